import { describe, expect, it } from 'vitest';
import { type DownloadStatus, waitForDownload } from '../../src/client/wait-for-download.ts';
import { shareService } from '../http/shared-service.ts';
import { apiClient } from '../support/client.ts';
import { queue, underWay } from '../support/downloads.ts';

const service = shareService();

describe('the typed client', () => {
  it('tells soon that a download runs, although nothing changes', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    const { request_token: token } = await queue(url, key, { url: sampleUrl('slow') });
    await underWay(url, key, token);
    const told: DownloadStatus[] = [];
    await waitForDownload(apiClient(url, key), token, { onStatus: (status) => told.push(status) });
    expect(told.map(({ status }) => status)).toContain('running');
  });
});
