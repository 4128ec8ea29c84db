import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../../src/commands/ids/api-key.ts';
import { rawExchange } from '../http/raw-request.ts';
import { exhaust, issueKey } from '../http/requests.ts';
import { ownService } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { ended, queue } from '../support/downloads.ts';
import { planFile } from '../support/plans.ts';
import { readMetric, scrape, type ScrapedMetric, scrapeWhole, valueOf } from '../support/scraped-metrics.ts';
import { sum } from '../support/sum.ts';
import { waitFor } from '../support/wait-for.ts';
import { root } from '../tidy/source-files.ts';

/** One of each: what is counted below has happened once before, as real requests and real downloads. */
let accountId: string;
let keys: string[];
let tokens: string[];

/** Room for the polls of two slow downloads. */
const hourlyLimit = 200;

const service = ownService({
  PLANS_FILE: planFile({ downloads_limit: 2, hourly_limit: hourlyLimit, warningPercents: [80, 100] }),
});
beforeAll(async () => {
  const account = await service.openAccount('test');
  ({ accountId } = account);
  const { url, sampleUrl } = service;
  const { key } = account;
  const done = await queue(url, key, { url: sampleUrl('bars') });
  const failed = await queue(url, key, { url: sampleUrl('private') });
  tokens = [done.request_token, failed.request_token];
  for (const token of tokens) await ended(url, key, token);
  await call(url, '/video/download', { key, body: { url: sampleUrl('bars') } });
  await call(url, '/video/download', { key, body: {} });
  await call(url, '/credits', {});
  await call(url, '/credits', { key: newApiKey(randomBytes).key });
  await call(url, '/no/such/path', { key });
  await call(url, '/credits', { key, method: 'DELETE' });
  await rawExchange(url, 'NO HTTP\r\n\r\n');
  const second = await issueKey(url, key);
  await exhaust(url, second);
  await call(url, '/credits', { key: second });
  keys = [key, second];
});

describe('GET /metrics', () => {
  it('answers without a key, in Prometheus’ format, outside the API', async () => {
    const { response } = await scrape(service.url);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect([...response.headers.keys()].filter((name) => /^x-(ratelimit|credits)/.test(name))).toEqual([]);
  });

  it('counts requests by route and status, and refusals by their code', async () => {
    const { metrics } = await scrape(service.url);
    const requests = (labels: Record<string, string>) => valueOf(metrics, 'reeltally_requests_total', labels);
    const download = { method: 'POST', route: '/api/v1/video/download' };
    expect(requests({ ...download, status: '202' })).toBe(2);
    expect(requests({ ...download, status: '402' })).toBe(1);
    expect(requests({ ...download, status: '400' })).toBe(1);
    expect(requests({ route: '/api/v1/credits', status: '401' })).toBe(2);
    expect(requests({ route: '/api/v1/credits', status: '429' })).toBe(1);
    expect(requests({ route: '/api/v1/credits', status: '200' })).toBe(hourlyLimit);
    const unknown = { method: 'other', route: 'unknown' };
    expect([requests({ ...unknown, status: '404' }), requests({ ...unknown, status: '405' })]).toEqual([1, 1]);
    expect(requests({ ...unknown, status: '400' })).toBe(1);
    expect(valueOf(metrics, 'reeltally_request_duration_seconds', { route: download.route })).toBe(4);
    const refusals = (code: string) => valueOf(metrics, 'reeltally_refusals_total', { code });
    expect({
      unauthorized: refusals('unauthorized'),
      download_quota_exceeded: refusals('download_quota_exceeded'),
      rate_limited: refusals('rate_limited'),
      invalid_request: refusals('invalid_request'),
      not_found: refusals('not_found'),
      internal_error: refusals('internal_error'),
    }).toEqual({
      unauthorized: 2,
      download_quota_exceeded: 1,
      rate_limited: 1,
      invalid_request: 2,
      not_found: 1,
      internal_error: 0,
    });
    const admissions = (outcome: string) => valueOf(metrics, 'reeltally_admissions_total', { outcome });
    expect([admissions('rate_limited'), admissions('unknown_key')]).toEqual([1, 1]);
    const letIn = metrics
      .find(({ name }) => name === 'reeltally_requests_total')
      ?.samples.filter(({ labels }) => labels['route']?.startsWith('/api/') && !/401|429/.test(labels['status'] ?? ''));
    expect(admissions('admitted')).toBe(sum((letIn ?? []).map(({ value }) => value)));
  });

  it('counts a path that cannot be decoded as not found', async () => {
    const notFound = () => readMetric(service.url, 'reeltally_refusals_total', { code: 'not_found' });
    const before = await notFound();
    expect((await fetch(`${service.url}/api/v1/%zz`)).status).toBe(404);
    expect(await notFound()).toBe((before ?? NaN) + 1);
  });

  it('counts a request whose connection was cut as that', async () => {
    const cut = () =>
      readMetric(service.url, 'reeltally_requests_total', {
        route: '/api/v1/video/download',
        status: 'cut',
      });
    // With a window of its own, so that it is let in however many requests there were before.
    const fresh = await issueKey(service.url, keys[0] ?? '');
    const admitted = async () =>
      (await readMetric(service.url, 'reeltally_admissions_total', { outcome: 'admitted' })) ?? 0;
    const before = await admitted();
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const lines = ['POST /api/v1/video/download HTTP/1.1', 'Host: test', `Authorization: Bearer ${fresh}`];
    // A body that does not come: the request has a route by now, and no answer yet.
    socket.write([...lines, 'Content-Length: 10', 'Content-Type: application/json', '', '{'].join('\r\n'));
    await waitFor(async () => (await admitted()) > before, { what: 'the request to be let in' });
    socket.destroy();
    await waitFor(async () => (await cut()) === 1, { what: 'the cut to be counted' });
  });

  it('counts jobs by outcome and reason, appends, and children', async () => {
    const { metrics } = await scrapeWhole(service.url);
    expect(valueOf(metrics, 'reeltally_jobs_claimed_total')).toBe(2);
    expect(valueOf(metrics, 'reeltally_jobs_finished_total', { outcome: 'done' })).toBe(1);
    expect(valueOf(metrics, 'reeltally_jobs_finished_total', { outcome: 'failed' })).toBe(1);
    expect(valueOf(metrics, 'reeltally_jobs_finished_total', { reason: 'private_video' })).toBe(1);
    // Three of each job, two downloads, two keys, and what opened the accounts before.
    expect(valueOf(metrics, 'reeltally_appends_total', { outcome: 'stored' })).toBeGreaterThanOrEqual(10);
    expect(valueOf(metrics, 'reeltally_append_duration_seconds')).toBe(valueOf(metrics, 'reeltally_appends_total'));
    expect(valueOf(metrics, 'reeltally_child_process_endings_total', { ending: 'exited' })).toBeGreaterThanOrEqual(3);
    expect(valueOf(metrics, 'reeltally_attempts_ended_total', { platform: 'sample', outcome: 'done' })).toBe(1);
    const failed = { platform: 'sample', outcome: 'failed', reason: 'private_video' };
    expect(valueOf(metrics, 'reeltally_attempts_ended_total', failed)).toBe(1);
    expect(valueOf(metrics, 'reeltally_job_start_seconds')).toBe(2);
    for (const idle of ['downloads_running', 'child_processes', 'appends_open', 'oldest_open_append_seconds'])
      expect(valueOf(metrics, `reeltally_${idle}`), idle).toBe(0);
  });

  it('counts stored events by type, and the cents of overage', async () => {
    const stored = (type: string) => readMetric(service.url, 'reeltally_events_stored_total', { type });
    expect(await stored('DownloadCreditDebited')).toBe(2);
    expect(await stored('DownloadQueued')).toBe(2);
    expect(await stored('JobCompleted')).toBe(1);
    expect(await stored('OverageCharged')).toBe(0);
    const { metrics } = await scrapeWhole(service.url);
    for (const kind of ['charged', 'given_back'])
      expect(valueOf(metrics, 'reeltally_overage_cents_total', { kind })).toBe(0);
  });

  it('counts warning mails, which are files where no mail server is named', async () => {
    const about = { about: 'warning' };
    const sent = () => readMetric(service.url, 'reeltally_mails_total', about);
    // The second download reaches both thresholds at once, which is one mail.
    await waitFor(async () => (await sent()) === 1, { what: 'the mail' });
    const directory = join(service.dataDirectory, 'mails');
    const all = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    const mails = all.filter((mail) => mail.includes('of this period are used'));
    expect(mails).toHaveLength(1);
    for (const mail of mails) {
      expect(mail).toContain('To: owner@example.com');
      expect(mail).toContain(accountId);
    }
    const waiting = () => readMetric(service.url, 'reeltally_mails_waiting');
    await waitFor(async () => (await waiting()) === 0, { what: 'the read model to follow' });
    const { metrics } = await scrapeWhole(service.url);
    expect(valueOf(metrics, 'reeltally_oldest_waiting_mail_seconds')).toBe(0);
    expect(valueOf(metrics, 'reeltally_mail_failures_total')).toBe(0);
  });

  it('shows read models and queue that have caught up, and room on the disks', async () => {
    const { metrics } = await scrapeWhole(service.url);
    expect(valueOf(metrics, 'reeltally_projector_leading')).toBe(1);
    expect(valueOf(metrics, 'reeltally_projection_lag_positions')).toBe(0);
    expect(valueOf(metrics, 'reeltally_projection_idle_seconds', { projection: 'job_timeline' })).toBeGreaterThan(0);
    expect(valueOf(metrics, 'reeltally_projected_events_total', { projection: 'job_timeline' })).toBeGreaterThan(8);
    for (const none of ['pending_messages', 'unacknowledged_messages', 'redelivered_messages'])
      expect(valueOf(metrics, `reeltally_queue_${none}`), none).toBe(0);
    expect(valueOf(metrics, 'reeltally_oldest_unclaimed_job_seconds')).toBe(0);
    for (const server of ['event_store', 'nats', 'postgres'])
      expect(valueOf(metrics, 'reeltally_server_ready', { server }), server).toBe(1);
    for (const directory of ['files', 'work'])
      expect(valueOf(metrics, 'reeltally_disk_free_bytes', { directory }), directory).toBeGreaterThan(1e6);
    expect(valueOf(metrics, 'reeltally_scrape_failures_total')).toBeGreaterThanOrEqual(0);
  });

  it('holds no key, account, token or address', async () => {
    const { text } = await scrapeWhole(service.url);
    const secrets = [...keys, ...keys.map((key) => key.slice(0, 12)), accountId, ...tokens, service.sampleUrl('')];
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    expect(text).not.toMatch(/https?:|(acc|key|wrk)_[a-z0-9]{16}/);
  });
});

interface Row {
  name: string;
  type: string;
  labels: string[];
  roles: string[];
}

const words = (cell: string | undefined) => (cell ?? '').split(',').flatMap((word) => word.trim() || []);

/** The tables of `docs/metrics.md`. */
function documented(): Row[] {
  const text = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  return text.split('\n').flatMap((line) => {
    const [, name, type, labels, roles] = /^\| `(\w+)` \| (\w+) \|([^|]*)\|([^|]*)\|/.exec(line) ?? [];
    return name === undefined || type === undefined ? [] : { name, type, labels: words(labels), roles: words(roles) };
  });
}

const ofRole = (role: string) => documented().filter(({ roles }) => roles.includes(role) || roles.includes('all'));
const named = (rows: readonly { name: string; type: string }[]) =>
  rows.map(({ name, type }) => `${name} ${type}`).sort();
const labelsOf = ({ samples }: ScrapedMetric) =>
  [...new Set(samples.flatMap(({ labels }) => Object.keys(labels)))].sort();

describe('docs/metrics.md', () => {
  it('lists the metrics of a service in one process, with their labels', async () => {
    const { metrics } = await scrapeWhole(service.url);
    expect(named(metrics)).toEqual(named(documented()));
    for (const { name, labels } of documented()) {
      const metric = metrics.find((scraped) => scraped.name === name);
      // Node may have no request to the operating system under way, and then says nothing of their types.
      if (metric && (metric.samples.length > 0 || name.startsWith('reeltally_')))
        expect(labelsOf(metric), name).toEqual(labels.sort());
    }
  });

  it.each(['api', 'projector', 'dispatcher', 'worker'] as const)('lists the metrics of the role %s', async (role) => {
    await using process = await service.startRole(role);
    const { metrics } = await scrapeWhole(process.url);
    expect(named(metrics)).toEqual(named(ofRole(role)));
    if (role === 'projector' || role === 'dispatcher') {
      // The other process leads: this one says only that it does not.
      expect(valueOf(metrics, `reeltally_${role}_leading`)).toBe(0);
      const silent = ['projection_lag_positions', 'queue_pending_messages', 'oldest_unclaimed_job_seconds'];
      for (const name of silent) expect(valueOf(metrics, `reeltally_${name}`)).toBeUndefined();
    }
  });
});
