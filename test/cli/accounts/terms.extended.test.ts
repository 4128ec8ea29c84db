import { describe, expect, it } from 'vitest';
import { noDownloads, shareService } from '../../http/shared-service.ts';
import { runIn } from '../command-line.ts';

const service = shareService(noDownloads);

describe('accounts terms', () => {
  it('of five commands at once all survive', async () => {
    const { accountId } = await service.openAccount('dev_100');
    const named = ['--downloads 7', '--metadata 8', '--overage-cents 9', '--fee-cents 5000', '--hourly 11'];
    const asProcesses = runIn({ REELTALLY_DATA: service.dataDirectory });
    const ran = await Promise.all(
      named.map((words) => asProcesses('accounts', 'terms', accountId, ...words.split(' '), '--json')),
    );
    expect(ran.map(({ code, stderr }) => ({ code, stderr }))).toEqual(named.map(() => ({ code: 0, stderr: '' })));
    const answers = ran.map(({ stdout }) => JSON.parse(stdout) as { terms: object });
    // The last of them has found what the others have made.
    const terms = { downloads_limit: 7, metadata_limit: 8, overage_cents: 9, fee_cents: 5000, hourly_limit: 11 };
    expect(answers.map(({ terms: told }) => told)).toContainEqual(expect.objectContaining(terms));
  });
});
