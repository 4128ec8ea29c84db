import { setTimeout as sleep } from 'node:timers/promises';
import { Divergence } from '../verify/divergence.ts';
import { Follower } from '../verify/follow.ts';
import type { Books } from '../verify/follow.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, facts, print } from './output.ts';
import type { Output } from './output.ts';
import { createProgressBar } from './progress-bar.ts';

type VerifyDependencies = Pick<CliDependencies, 'output' | 'store'> & { books: Books };

export interface VerifyOptions {
  account?: string;
  /** Day on which the billing period starts, YYYY-MM-DD. */
  period?: string;
  watch?: boolean;
}

const followEveryMs = 1_000;
/** After a divergence everything is verified anew: what was mended is no longer one. */
const startOverMs = 60_000;

/**
 * Recomputes every charge, correction and invoice from the log by rules of its own, and compares what stands in Postgres.
 *
 * @throws {CommandFailed} with 1 at the first divergence, with 2 where it could not be found out
 */
export async function verifyCommand(
  cli: VerifyDependencies,
  { watch = false, ...options }: VerifyOptions,
): Promise<void> {
  if (watch) await follow(cli, options);
  const verdict = await verifyOnce(newFollower(cli, options));
  print(cli.output, verdict.data, verdict.text);
  if (verdict.error !== undefined) throw new CommandFailed(verdict.error, verdict.exitCode);
}

interface Verdict {
  exitCode: 0 | 1 | 2;
  data: object;
  text: string;
  error?: string;
}

function newFollower({ store: log, books, output }: VerifyDependencies, { account, period }: VerifyOptions) {
  const bar = createProgressBar(output, 'verify');
  const scope = { accountId: account, period: period?.replaceAll('-', '') };
  return { bar, follower: new Follower({ log, books, scope, progress: bar.show }) };
}

async function verifyOnce({ follower, bar }: ReturnType<typeof newFollower>): Promise<Verdict> {
  const seen = () => ({ events: follower.replay.events, accounts: follower.replay.accounts.size });
  try {
    await follower.catchUp().finally(bar.end);
    const { events, accounts } = seen();
    const position = follower.position.toString();
    const text = `Verified: ${String(events)} events of ${String(accounts)} accounts, up to position ${position}. Log, ledger and invoices agree.`;
    return { exitCode: 0, data: { verdict: 'verified', ...seen(), position }, text };
  } catch (error) {
    if (error instanceof Divergence) {
      const { expected, found, ...where } = error.facts;
      const shown = facts({ ...where, expected: readable(expected), found: readable(found) });
      const data = { verdict: 'divergence', ...seen(), divergence: error.facts };
      return {
        exitCode: 1,
        data,
        text: shown,
        error: `diverges at ${error.message}; what comes after was not looked at`,
      };
    }
    const reason = error instanceof Error ? error.message : String(error);
    const data = { verdict: 'not_verified', ...seen(), reason };
    return { exitCode: 2, data, text: 'Not verified.', error: `it could not be verified: ${reason}` };
  }
}

const readable = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? null));

/** For ever: a line when everything up to now is verified, and for what is not. */
async function follow(cli: VerifyDependencies, options: VerifyOptions): Promise<never> {
  const { json, write }: Output = cli.output;
  let following = newFollower(cli, options);
  let last = '';
  for (;;) {
    const { exitCode, data, text, error } = await verifyOnce(following);
    const line = json ? JSON.stringify(data) : (error ?? text);
    if (line !== last) write(`${line}\n`);
    last = line;
    await sleep(exitCode === 1 ? startOverMs : followEveryMs);
    if (exitCode === 1) following = newFollower(cli, options);
  }
}
