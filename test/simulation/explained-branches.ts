import type { Unreached } from './coverage.ts';

/** Why branches of the simulated files are reached by no history: `npm run simulate -- --coverage` compares. */
export interface Explanation {
  why: string;
  /** How the branch begins. */
  text: RegExp;
  /** Of one file, or of all. */
  path?: string;
}

/** Files whose code decides what becomes of a request, a charge or a job; of the others, the histories run parts. */
const simulated = [/^src\/(?:commands|dispatcher|worker)\//, /^src\/domain\//, /^src\/http\/(?:post-video|get-)/];

export const isSimulated = (path: string): boolean => simulated.some((each) => each.test(path));

export const explanations: readonly Explanation[] = [
  { why: 'a guard against bugs of the service: the judge would tell of it', text: /^(?:\{ )?throw new Error\(/ },
  { why: 'the compiler shows that nothing is left for it', text: /^(?:default: )?return \w+ satisfies never/ },
  { why: 'the type allows it, and the line before has excluded it', text: /^\?\? (?:''|0|null|\[\]|-1)$/ },
];

export const explains = ({ text, path }: Explanation, branch: Unreached): boolean =>
  (path === undefined || path === branch.path) && text.test(branch.text);
