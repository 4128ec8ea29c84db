import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { countEvents } from './engines-behind.ts';
import { rawRequest } from './raw-request.ts';
import { creditsOf, issueKey, metadataPath } from './requests.ts';
import type { Credits } from './requests.ts';
import { demoOf, shareService } from './shared-service.ts';

const service = shareService();
let key = '';
let before: { credits: Credits; events: number };

beforeAll(async () => {
  const { url } = service();
  key = await issueKey(url, demoOf(service()).key);
  before = { credits: await creditsOf(url, key), events: await countEvents(service()) };
}, 60_000);

/** Nothing that was refused here has cost anything or left a trace in the log. Charged ones are undone by their own tests. */
afterAll(async () => {
  const credits = await creditsOf(service().url, key);
  const events = await countEvents(service());
  expect({ credits: credits.downloads.used, events: events - 2 * accepted }).toEqual({
    credits: before.credits.downloads.used + accepted,
    events: before.events,
  });
  expect(credits.metadata).toEqual(before.credits.metadata);
}, 60_000);

/** Downloads that were accepted on purpose: each is a charge and a job, of an item that no worker of ours takes long with. */
let accepted = 0;

const post = (body: string | Buffer, contentType?: string, path = '/video/download') =>
  rawRequest(service().url, {
    method: 'POST',
    path: `/api/v1${path}`,
    headers: { authorization: `Bearer ${key}`, ...(contentType !== undefined && { 'content-type': contentType }) },
    body,
  });
const json = 'application/json';
