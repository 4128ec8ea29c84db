import type { Command } from 'commander';
import { sleep } from '../../async/sleep.ts';
import { readAcknowledged, Verifier } from '../../audit/compare/verifier.ts';
import type { AccountDivergences, Divergence, Facts } from '../../audit/rules/divergence.ts';
import { type Notice, noticeTexts } from '../../audit/rules/notices.ts';
import { facts } from '../../documents/text.ts';
import { accountIdArgument, dayArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, type Output, print } from '../output.ts';
import { createProgressBar } from '../progress-bar.ts';
import { compareCheckpoints, type ComparedCheckpoint } from './kept-checkpoints.ts';

export function addVerify(ledger: Command, run: RunCommand): void {
  ledger
    .command('verify')
    .description(
      'recompute every charge and invoice from the log, by rules of its own, and list divergences; exits with 1 for new ' +
        'divergences, 2 if it could not verify, 3 for acknowledged divergences only',
    )
    .option('--account <account>', 'verify this account only', accountIdArgument)
    .option(
      '--period <day>',
      'compare the rows of one billing period only: the day on which it starts, YYYY-MM-DD',
      dayArgument,
    )
    .option('--watch', 'keep following the log, and print each divergence')
    .option(
      '--checkpoint <files...>',
      'also compare the log with signed heads that were kept, in a mirror or by themselves',
    )
    .action((options: VerifyOptions) => run((cli) => verifyCommand(cli, options), { wholeTables: true }));
}

export type VerifyDependencies = Pick<CliDependencies, 'output' | 'store' | 'now' | 'queries'>;

interface VerifyOptions {
  account?: string;
  /** Day on which the billing period starts, YYYY-MM-DD. */
  period?: string;
  watch?: boolean;
  /** Files of signed heads that somebody kept. */
  checkpoint?: readonly string[];
}

const followEveryMs = 1_000;
/** After new divergences everything is verified anew: what was mended is no longer one. */
const startOverMs = 60_000;

/**
 * Recomputes every charge, correction and invoice from the log by rules of its own, and compares what stands in Postgres.
 *
 * @throws {CommandFailed} with 1 for divergences of which one is new, with 2 where it could not be found out, with 3 for
 *   divergences that were all acknowledged
 */
async function verifyCommand(
  cli: VerifyDependencies,
  { watch = false, checkpoint = [], ...options }: VerifyOptions,
): Promise<void> {
  if (watch && checkpoint.length > 0) throw new CommandFailed('--checkpoint compares once: leave out --watch');
  if (watch) await follow(cli, options);
  const verdict = withCheckpoints(
    await verifyOnce(await newVerifier(cli, options)),
    await readCompared(cli, checkpoint),
  );
  print(cli.output, verdict.data, verdict.text);
  if (verdict.error !== undefined) throw new CommandFailed(verdict.error, verdict.exitCode);
}

interface Verdict {
  exitCode: 0 | 1 | 2 | 3;
  data: object;
  text: string;
  error?: string;
}

/** @returns why they could not be compared, if so */
async function readCompared(
  { store }: VerifyDependencies,
  files: readonly string[],
): Promise<ComparedCheckpoint[] | string> {
  try {
    return files.length === 0 ? [] : await compareCheckpoints(store, files);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A kept head that does not hold is as bad as a divergence. */
function withCheckpoints(verdict: Verdict, compared: ComparedCheckpoint[] | string): Verdict {
  if (typeof compared === 'string') {
    const error = `the checkpoints could not be compared: ${compared}`;
    return verdict.exitCode === 1 ? verdict : { ...verdict, exitCode: 2, error };
  }
  if (compared.length === 0) return verdict;
  const lines = compared.map(({ file, verdict: said }) => `${file}: ${said}`);
  const more = {
    ...verdict,
    data: { ...verdict.data, checkpoints: compared },
    text: `${verdict.text}\n\n${lines.join('\n')}`,
  };
  const changed = compared.findIndex(({ holds }) => !holds);
  if (changed < 0) return more;
  const also = verdict.error === undefined ? '' : `; ${verdict.error}`;
  return { ...more, exitCode: 1, error: `${lines[changed] ?? ''}${also}` };
}

interface Following {
  verifier: Verifier;
  bar: ReturnType<typeof createProgressBar>;
}

export async function newVerifier(
  { store: log, queries, output, now }: VerifyDependencies,
  { account, period }: VerifyOptions,
): Promise<Following> {
  const bar = createProgressBar(output, 'verify');
  const scope = { accountId: account, period: period?.replaceAll('-', '') };
  const following = { log, queries, scope, now, progress: bar.show };
  return { bar, verifier: new Verifier(following, await readAcknowledged(log)) };
}

async function verifyOnce({ verifier, bar }: Following): Promise<Verdict> {
  let reason: string | undefined;
  try {
    await verifier.catchUp().finally(bar.end);
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  const { divergences, replay } = verifier;
  const { counts } = divergences;
  const position = verifier.position.toString();
  const seen = { events: replay.events, accounts: replay.accounts.size, position, ...counts };
  const listed = divergences.list();
  const { notices } = replay;
  const data = { ...seen, ...(reason !== undefined && { reason }), divergences: listed, notices };
  const first = listed.flatMap((each) => each.divergences).find(({ known }) => !known);
  const noticed = notices.length > 0 ? describeNotices(notices) : '';
  if (first) {
    const { text, error } = describeNew(listed, first, counts);
    return { exitCode: 1, data: { verdict: 'divergences', ...data }, text: noticed + text, error };
  }
  const text = noticed + (listed.length > 0 ? describe(listed) : '');
  if (reason !== undefined) {
    const error = `it could not be verified: ${reason}`;
    return { exitCode: 2, data: { verdict: 'not_verified', ...data }, text: `${text}Not verified.`, error };
  }
  const upTo = `${String(seen.events)} events of ${String(seen.accounts)} accounts, up to position ${position}`;
  if (counts.known > 0) {
    const error = `nothing new: all ${String(counts.known)} divergences are acknowledged`;
    return { exitCode: 3, data: { verdict: 'known_divergences', ...data }, text: `${text}Verified: ${upTo}.`, error };
  }
  const verified = `${text}Verified: ${upTo}. Log, ledger and invoices agree.`;
  return { exitCode: 0, data: { verdict: 'verified', ...data }, text: verified };
}

function describeNew(
  listed: readonly AccountDivergences[],
  first: Divergence,
  counts: { new: number; known: number },
): { text: string; error: string } {
  const known = counts.known > 0 ? `, and ${String(counts.known)} known` : '';
  const error = `${String(counts.new)} new ${counts.new === 1 ? 'divergence' : 'divergences'}${known}; the first: ${inWords(first)}`;
  return { text: describe(listed).trimEnd(), error };
}

/** One sentence. */
export function inWords({ stream, revision, field, expected, found }: Facts): string {
  return `event ${String(revision)} of ${stream}: ${field} should be ${readable(expected)}, and is ${readable(found)}`;
}

/** By account, each with what names it. */
function describe(listed: readonly AccountDivergences[]): string {
  const parts = listed.flatMap(({ account_id, divergences, more, ...counts }) => {
    const named = divergences.map(({ id, known, rule, stream, revision, field, expected, found }) =>
      facts({
        id,
        known: known ? 'acknowledged' : 'no',
        rule,
        stream,
        revision,
        field,
        expected: readable(expected),
        found: readable(found),
      }),
    );
    const head = `${account_id ?? 'of no account'}: ${String(counts.new)} new, ${String(counts.known)} known`;
    return [head, ...named, ...(more > 0 ? [`and ${String(more)} more`] : [])];
  });
  return `${parts.join('\n\n')}\n\n`;
}

/** They change no verdict. */
function describeNotices(notices: readonly Notice[]): string {
  const named = notices.map(({ notice, ...about }) => `${facts(about)}\n${noticeTexts[notice]}`);
  return `For finance, no divergence:\n\n${named.join('\n\n')}\n\n`;
}

const readable = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? null));

/** For ever: a line when everything up to now is verified, and for what is not. */
async function follow(cli: VerifyDependencies, options: VerifyOptions): Promise<never> {
  const { json, write }: Output = cli.output;
  let following = await newVerifier(cli, options);
  let last = '';
  for (;;) {
    const { exitCode, data, text, error } = await verifyOnce(following);
    const line = json ? JSON.stringify(data) : (error ?? text);
    if (line !== last) write(`${line}\n`);
    last = line;
    await sleep(exitCode === 1 ? startOverMs : followEveryMs);
    if (exitCode === 1 || !following.verifier.isUsable) following = await newVerifier(cli, options);
  }
}
