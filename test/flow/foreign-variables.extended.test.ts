import { expect, it } from 'vitest';
import { ended, queue } from '../support/downloads.ts';
import { startService } from '../support/service.ts';

/** An address at which nobody answers. */
const nowhere = 'http://127.0.0.1:9';

/** What a shell may hold for other programs: each leads a library of ours somewhere else, if it reads it. */
const foreign = {
  grpc_proxy: nowhere,
  http_proxy: nowhere,
  https_proxy: nowhere,
  all_proxy: nowhere,
  no_proxy: 'other.example',
  HTTP_PROXY: nowhere,
  HTTPS_PROXY: nowhere,
  ALL_PROXY: nowhere,
  NO_PROXY: 'other.example',
  GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: '/nowhere/roots.pem',
  GRPC_SSL_CIPHER_SUITES: 'none',
  PGHOST: 'db.example',
  PGPORT: '1',
  PGUSER: 'somebody',
  PGPASSWORD: 'wrong',
  PGDATABASE: 'other',
  PGSSLMODE: 'require',
  PGOPTIONS: '-c default_transaction_read_only=on',
  PGTZ: 'Asia/Tokyo',
  PGAPPNAME: 'other',
  PGCONNECT_TIMEOUT: '1',
  PGCLIENTENCODING: 'LATIN1',
  AWS_PROFILE: 'other',
  AWS_ENDPOINT_URL: nowhere,
  NATS_URL_OTHER: nowhere,
  TZ: 'Asia/Tokyo',
};

it('a download goes through from its request to its file, whatever the environment holds for other programs', async () => {
  await using service = await startService(foreign);
  const { key } = await service.openAccount('enterprise');
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('bars'), quality: '360' });
  const status = await ended(service.url, key, token);
  expect({ status, log: service.log() }).toMatchObject({ status: { status: 'done' } });
  expect((await fetch('download_url' in status ? status.download_url : '')).status).toBe(200);
  expect(await service.cli('ledger', 'verify')).toMatchObject({ divergences: [] });
});
