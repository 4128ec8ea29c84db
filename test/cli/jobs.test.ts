import { beforeAll, describe, expect, it } from 'vitest';
import type { ChargedAccount } from '../commands/charged-account.ts';
import { booksOfFile } from './books.ts';
import { expectRefusal, expectText } from './command-line.ts';

const { run, cli, chargedAccount, failDownload } = booksOfFile();
const actor = { type: 'api_key', id: 'key_aaaaaaaaaaaaaaaa' } as const;

interface Timeline {
  token: string;
  rows: { type: string; stream: string; revision: number; cents?: number; time: string; gap_seconds: number }[];
}

/** An account whose second download is overage. */
async function twoDownloads() {
  const account = await chargedAccount(1, actor);
  await failDownload(account, 0, 'private_video');
  await failDownload(account, 1, 'video_unavailable');
  return account;
}

describe('jobs show and timeline', () => {
  let downloads: ChargedAccount;
  beforeAll(async () => {
    downloads = await twoDownloads();
  });

  it('tell a download’s whole story, with what it cost', async () => {
    const { accountId, stream, tokens } = downloads;
    const [included = '', charged = ''] = tokens;
    const streamOf = (rows: Timeline['rows']) => new Set(rows.map(({ stream }) => stream));

    const first = await cli<Timeline>('jobs', 'timeline', included);
    expect(first).toMatchObject({ token: included, behind: false });
    expect(first.rows.map(({ type, revision, cents }) => [type, revision, cents])).toEqual([
      ['DownloadCreditDebited', 1, 0],
      ['DownloadQueued', 2, undefined],
      ['JobClaimed', 0, undefined],
      ['JobStarted', 1, undefined],
      ['JobFailed', 2, undefined],
    ]);
    const second = await cli<Timeline>('jobs', 'timeline', charged);
    expect(second.rows.map(({ type, revision, cents }) => [type, revision, cents])).toEqual([
      ['OverageCharged', 3, 25],
      ['DownloadQueued', 4, undefined],
      ['JobClaimed', 0, undefined],
      ['JobStarted', 1, undefined],
      ['JobFailed', 2, undefined],
    ]);
    expect([...streamOf(second.rows)]).toEqual([stream, `job-${charged}`]);
    expect(second.rows[0]).toMatchObject({ actor, gap_seconds: 0 });
    const instants = second.rows.map(({ time }) => time);
    expect(instants).toEqual(instants.toSorted());
    expect(second.rows.every(({ gap_seconds: gap }) => gap >= 0)).toBe(true);

    const text = await run('jobs', 'timeline', charged);
    expectText(text, /^time +gap +type +stream +revision +actor +charge +in words +payload\n/);
    expectText(
      text,
      / OverageCharged +usage-acc_\w+-\d{8} +3 +api_key key_\w+ +\$0\.25 +\$0\.25 beyond the plan, as download 2 of the period +\{/,
    );
    expectText(text, / JobFailed .* The video does not exist or has been removed\. +\{/);
    expect((await run('jobs', 'timeline', included)).stdout).toMatch(/ DownloadCreditDebited .* \$0\.00 /);

    expect(await cli('jobs', 'show', charged)).toMatchObject({
      token: charged,
      account_id: accountId,
      platform: 'youtube',
      video_id: 'jNQXAC9IVRw',
      quality: 'best',
      format: 'video',
      status: 'failed',
      failure_reason: 'video_unavailable',
      overage: true,
      attempts: 1,
    });
    expectText(await run('jobs', 'show', included), /^failure_reason +private_video$/m);
    expectText(await run('jobs', 'show', included), /^failure_message +The video is private\.$/m);
  });

  it('tell what was given back, why, and by whom', async () => {
    const [, charged = ''] = downloads.tokens;
    const why = ['--reason', 'the film was cut', '--reference', 'case-7', '--by', 'Ada'];
    expectText(await run('ledger', 'waive', charged, ...why), /./);
    const waived = /^given back:\n {2}\S+Z {2}Waived \$0\.25 under case-7 by Ada: the film was cut$/m;
    expectText(await run('jobs', 'timeline', charged), waived);
    expectText(await run('jobs', 'show', charged), waived);
    expect(await cli('jobs', 'show', charged)).toMatchObject({ charge_cents: 25, corrections: [{ cents: 25 }] });
  });

  it.each(['show', 'timeline'])('refuse a token that there is not: jobs %s', async (command) => {
    for (const token of ['KetMw5FytYaj5Jagkyemfp2E1xf6-R9a', '../x']) {
      expectRefusal(await run('jobs', command, token), /no job /);
    }
  });
});
