import { expect } from 'vitest';
import { type Environment, runCommand, runInLoadedProcess, type ServiceInUse } from '../support/service.ts';

type Ran = Awaited<ReturnType<typeof runCommand>>;

export type Run = (...words: string[]) => Promise<Ran>;

/** Runs commands against the running service of a file. */
export const against =
  (service: ServiceInUse): Run =>
  (...words) =>
    within({ REELTALLY_DATA: service.dataDirectory })(...words);

/** Runs commands in a process that is loaded already. */
export const within =
  (environment: Environment): Run =>
  (...words) =>
    runInLoadedProcess(words, environment);

/** Runs commands as processes of their own. */
export const runIn =
  (environment: Environment): Run =>
  (...words) =>
    runCommand(words, environment);

/** The sentence that a command prints on standard error, in words or, with `--json`, in JSON. */
export function saidBy({ stderr }: Pick<Ran, 'stderr'>): string {
  if (!stderr.startsWith('{"error":')) return stderr;
  return `reeltally: ${(JSON.parse(stderr) as { error: { message: string } }).error.message}\n`;
}

/** A command that says no: a sentence on standard error, nothing for programs to take for an answer, no trace. */
export function expectRefusal(ran: Ran, message: RegExp, code = 1): void {
  const said = saidBy(ran);
  expect(said).toMatch(message);
  expect(said).not.toMatch(/^\s+at /m);
  expect({ stdout: ran.stdout, code: ran.code }).toEqual({ stdout: '', code });
}

export function expectText(ran: Ran, text: RegExp): void {
  expect(ran.stdout).toMatch(text);
  expect({ stderr: ran.stderr, code: ran.code }).toEqual({ stderr: '', code: 0 });
}
