import { isRefused, type Refused } from '../../src/domain/refusals.ts';

/** The answer of a command. @throws where the command refused */
export function accepted<Answer extends object>(answer: Answer | Refused): Answer {
  if (isRefused(answer)) throw new Error(`it was refused: ${answer.refusal}`);
  return answer;
}
