import { describe, expect, it } from 'vitest';
import { type Answer, call } from '../support/client.ts';
import { countEvents } from './engines-behind.ts';
import { creditsOf, issueKey, together } from './requests.ts';
import { demoOf, noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);

/** The sample film that fails at once, so that the worker behind has little to do. */
function queue(key: string, idempotencyKey: string, body: object = {}): Promise<Answer> {
  return call(service.url, '/video/download', {
    key,
    body: { url: service.sampleUrl('private'), ...body },
    headers: { 'Idempotency-Key': idempotencyKey },
  });
}

describe('Idempotency-Key', () => {
  it('makes a repeated request safe: the same 202 byte for byte, and one charge', async () => {
    const { key } = demoOf(service);
    const before = await creditsOf(service.url, key);
    const answers = [await queue(key, 'order-1'), ...(await together(5, () => queue(key, 'order-1')))];
    expect(new Set(answers.map(({ status, text }) => `${String(status)} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(202);
    expect((await creditsOf(service.url, key)).downloads.used).toBe(before.downloads.used + 1);
    expect(answers.at(-1)?.headers.get('x-credits-remaining')).toBe(String(before.downloads.remaining - 1));
  });

  it('is the same for a request that spells out what is the default, or the address in another way', async () => {
    const { key } = demoOf(service);
    const url = 'https://www.youtube.com/watch?v=jNQXAC9IVRw';
    const first = await queue(key, 'order-2', { url });
    const again = {
      url: 'https://youtu.be/jNQXAC9IVRw?t=5',
      format: 'video',
      quality: 'best',
      audio_format: 'mp3',
      item: 1,
    };
    expect((await queue(key, 'order-2', again)).text).toBe(first.text);
  });

  it('belongs to the account: its other API keys find the download, other accounts do not', async () => {
    const { accountId, key } = await service.openAccount('dev_100');
    const first = await queue(key, 'order-3');
    expect((await queue(await issueKey(service.url, key), 'order-3')).text).toBe(first.text);
    const other = await queue(demoOf(service).key, 'order-3');
    expect(other.status).toBe(202);
    expect(other.data['request_token']).not.toBe(first.data['request_token']);
    expect(await countEvents(service, `usage-${accountId}-`)).toBe(4);
  });

  it.each([
    { quality: '720' },
    { format: 'audio' },
    { audio_format: 'm4a' },
    { url: 'https://www.youtube.com/watch?v=jNQXAC9IVRw' },
  ])('of another download is refused: %j', async (body) => {
    const { key } = demoOf(service);
    await queue(key, 'order-4');
    const { status, code, message } = await queue(key, 'order-4', body);
    expect([status, code, message]).toEqual([
      ...[400, 'invalid_request', 'Idempotency-Key: was used for another download; use a fresh key for this one'],
    ]);
  });

  it('is looked at before the quota: a download that was accepted is answered once more when nothing is left', async () => {
    const { accountId, key } = await service.openAccount('dev_100');
    const first = await queue(key, 'order-5');
    const keys = await Promise.all(Array.from({ length: 4 }, () => issueKey(service.url, key)));
    await together(99, (index) => queue(keys[index % 4] ?? '', `order-5-${String(index)}`));
    await service.cli('accounts', 'cap', accountId, '0');
    expect((await queue(key, 'order-6')).code).toBe('overage_cap_reached');
    const again = await queue(key, 'order-5');
    expect([again.text, again.headers.get('x-credits-remaining')]).toEqual([first.text, '0']);
  });

  it.each([
    ['empty', ''],
    ['of two words', 'order 7'],
    ['too long', 'x'.repeat(256)],
    ['not ASCII', 'ordre-é'],
  ])('that is %s is refused', async (_, idempotencyKey) => {
    const { status, code, message } = await queue(demoOf(service).key, idempotencyKey);
    expect([status, code]).toEqual([400, 'invalid_request']);
    expect(message).toBe('Idempotency-Key: must be 1 to 255 visible ASCII characters');
  });

  it('of 255 characters, all kinds of them, is taken', async () => {
    const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index)).join('');
    const idempotencyKey = visible.repeat(3).slice(0, 255);
    const first = await queue(demoOf(service).key, idempotencyKey);
    expect(first.status).toBe(202);
    expect((await queue(demoOf(service).key, idempotencyKey)).text).toBe(first.text);
  });

  it('means nothing to other endpoints', async () => {
    const { key } = demoOf(service);
    const { status } = await call(service.url, '/credits', { key, headers: { 'Idempotency-Key': 'a b' } });
    expect(status).toBe(200);
  });
});
