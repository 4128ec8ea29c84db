import { InvalidArgumentError } from 'commander';

/** Reads the value of an option. @throws unless it is a whole number from 1 */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('must be a whole number from 1');
  return Number(text);
}
