import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { ended, queue } from '../support/downloads.ts';
import { type OutgoingProxyOfTest, proxySecret, startOutgoingProxy } from '../support/outgoing-proxy.ts';
import { type Service, startService } from '../support/service.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** Everything that a worker fetches for a platform goes by the operator's proxy, with the operator's cookies. */
const directory = temporaryDirectoryOfFile();
const cookieSecret = 'c00kie-s3cret';
let proxy: OutgoingProxyOfTest;
let service: Service;
let key: string;

function write(name: string, text: string) {
  writeFileSync(join(directory, `${name}.new`), text, { mode: 0o600 });
  renameSync(join(directory, `${name}.new`), join(directory, name));
}

beforeAll(async () => {
  proxy = await startOutgoingProxy();
  write('proxy', proxy.url);
  write('cookies.txt', `127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tsession\t${cookieSecret}\n`);
  const sample = { proxy_file: 'proxy', source_address: '127.0.0.9', cookies_file: 'cookies.txt' };
  write('rules.json', JSON.stringify({ platforms: { sample } }));
  // That of all platforms is not for the sample platform, which only this machine reaches: nothing listens there.
  const everywhere = { EGRESS_PROXY: `http://operator:${proxySecret}@127.0.0.1:9` };
  service = await startService({
    ...everywhere,
    PLATFORM_RULES_FILE: join(directory, 'rules.json'),
    LOG_LEVEL: 'debug',
  });
  ({ key } = await service.openAccount('dev_100'));
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  for (const secret of [proxySecret, cookieSecret, Buffer.from(`operator:${proxySecret}`).toString('base64')])
    expect(service.log()).not.toContain(secret);
});

it('downloads and metadata take it, from the source address', async () => {
  const { host } = new URL(service.sampleUrl('bars'));
  const answer = await call(service.url, `/video/metadata?url=${encodeURIComponent(service.sampleUrl('bars'))}`, {
    key,
  });
  expect(answer.data).toMatchObject({ title: 'Colour bars' });
  const asked = proxy.asked.length;
  expect(asked).toBeGreaterThan(0);
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('hls'), quality: '360' });
  expect(await ended(service.url, key, token)).toMatchObject({ status: 'done' });
  expect(proxy.asked.length).toBeGreaterThan(asked);
  expect(new Set(proxy.asked.map(({ target, from }) => `${from} ${target}`))).toEqual(new Set([`127.0.0.9 ${host}`]));
  const events = JSON.stringify(await service.cli('jobs', 'timeline', token));
  expect(events).not.toContain(proxySecret);
  expect(events).not.toContain(cookieSecret);
});

it('a proxy that refuses is named in the log, and is the fault of the service', async () => {
  write('proxy', proxy.url.replace(proxySecret, `${proxySecret}-of-yesterday`));
  const url = encodeURIComponent(service.sampleUrl('vertical'));
  expect(await call(service.url, `/video/metadata?url=${url}`, { key })).toMatchObject({
    code: 'metadata_unavailable',
  });
  const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('vertical') });
  const attempt = await waitFor(
    async () => {
      const { rows } = await service.cli<{ rows: { type: string; data: object }[] }>('jobs', 'timeline', token);
      return rows.find(({ type }) => type === 'JobReleased');
    },
    { what: 'the end of an attempt' },
  );
  expect(attempt.data).toMatchObject({ reason: 'internal_error' });
  expect(service.log()).toContain('the outgoing proxy or source address cannot be used');
  expect(service.log()).toContain('The outgoing proxy answered 407.');
});
