import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { registerSite } from '../../../src/console/console.ts';
import {
  exportAnswer,
  type ExportForm,
  exportLimitMs,
  type ExportLimits,
  RunningExports,
} from '../../../src/console/export.ts';
import { originsOf } from '../../../src/console/origins.ts';
import { staffSite } from '../../../src/console/staff/staff-site.ts';
import type { StaffVisit } from '../../../src/console/visit.ts';
import { createListener } from '../../../src/http/listener.ts';
import { ServiceParts } from '../../../src/ports/service-parts.ts';
import { atMostMs } from '../../support/proof-scale.ts';
import { waitFor } from '../../support/wait-for.ts';

/** How files are sent, whatever they have: rows come from generators here. */

interface Row {
  number: number;
  text: string;
}

const page = (from: number): Row[] =>
  Array.from({ length: 1_000 }, (_, at) => ({ number: from + at, text: 'x'.repeat(100) }));

const opened: { close: () => Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const session = { sessionId: 'ses_a', staffId: 'stf_a', role: 'finance', formToken: '' } as const;

/** A console whose only page is a file of these rows, and what signs its only visitor out. */
async function serve(rows: (gone: AbortSignal) => AsyncGenerator<Row[]>, limits: Partial<ExportLimits> = {}) {
  const logger = pino({ level: 'silent' });
  const exports = new RunningExports({ running: 1, ...limits });
  // A request must be there soon; its answer may take its time.
  const listener = { logger, newUuid: () => 'id', trustedProxies: [] };
  const server = createListener(listener, {
    requestTimeout: 500,
    http: { headersTimeout: 500, connectionsCheckingInterval: 20 },
    forceCloseConnections: true,
  });
  opened.push(server);
  const signedIn = new Map([[session.sessionId, session]]);
  const route = (form: ExportForm) => ({
    ...({ method: 'GET', path: `/staff/file.${form}`, access: 'finance' } as const),
    handler: (visit: StaffVisit, _dependencies: unknown, reply: FastifyReply) =>
      exportAnswer(
        form,
        { exports },
        { reply, ...visit },
        {
          fileName: 'file',
          columns: ['number', 'text'] as const,
          about: { of: 'rows' },
          rows,
        },
      ),
  });
  let url = '';
  registerSite(
    server,
    {
      ...staffSite,
      routes: [route('csv'), route('json')],
      findSession: () => Promise.resolve(session),
      findSessions: () => Promise.resolve(signedIn),
      isConfirmed: () => Promise.resolve(true),
    },
    {
      get origins() {
        return originsOf(url);
      },
      serviceParts: new ServiceParts(logger),
      readiness: () => Promise.resolve({ parts: {} }),
      isDemo: false,
    },
  );
  url = await server.listen({ port: 0, host: '127.0.0.1' });
  url = url.replace('127.0.0.1', 'localhost');
  return { url, exports, signOut: () => signedIn.clear() };
}

const ask = (url: string, form: ExportForm = 'csv') =>
  get(`${url}/staff/file.${form}`, { agent: false, headers: { cookie: 'reeltally_staff=secret' } });

async function answerTo(url: string, form?: ExportForm): Promise<IncomingMessage> {
  const [answer] = (await once(ask(url, form), 'response')) as [IncomingMessage];
  return answer;
}

/** Pages for ever, and a promise of their end. */
function endless() {
  const end = Promise.withResolvers<undefined>();
  async function* rows(): AsyncGenerator<Row[]> {
    try {
      for (let from = 0; ; from += 1_000) {
        // Others have their turn.
        await sleep(1);
        yield page(from);
      }
    } finally {
      end.resolve(undefined);
    }
  }
  return { rows, ended: end.promise };
}

/** What has come until the connection was cut. */
async function untilCut(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  answer.on('data', (chunk: Buffer) => chunks.push(chunk));
  await expect(once(answer, 'end')).rejects.toThrow('aborted');
  return Buffer.concat(chunks).toString();
}

it('may take a quarter of an hour', () => {
  expect(new RunningExports({ running: 2 }).limits).toEqual({
    running: 2,
    runningOfAccount: 2,
    wholeMs: exportLimitMs,
    stalledMs: 30_000,
  });
  expect(exportLimitMs).toBe(900_000);
});

it('leaves room for other accounts', () => {
  const exports = new RunningExports({ running: 5, runningOfAccount: 2 });
  const begin = (...accounts: string[]) => accounts.map((account) => exports.begin(account));
  expect(begin('a', 'a', 'a', 'b')).toEqual([true, true, false, true]);
  exports.end('a');
  expect(begin('a', 'a', 'b', 'c', 'd')).toEqual([true, false, true, true, false]);
});

it('is whole, however long its source takes before each page', async () => {
  const { url } = await serve(
    async function* () {
      await sleep(700);
      yield page(0);
      await sleep(700);
      yield page(1_000);
    },
    { stalledMs: 500 },
  );
  const csv = (await buffer(await answerTo(url))).toString();
  expect(csv.trimEnd().split('\n')).toHaveLength(2_001);
  const json = JSON.parse((await buffer(await answerTo(url, 'json'))).toString()) as { rows: Row[]; count: number };
  expect([json.rows.length, json.count]).toEqual([2_000, 2_000]);
});

it('ends where its reader stops', async () => {
  const { rows, ended } = endless();
  const { url, exports } = await serve(rows, { stalledMs: 50 });
  const answer = await answerTo(url);
  answer.on('error', () => undefined);
  expect(exports.begin()).toBe(false);
  await ended;
  await waitFor(() => exports.begin(), { what: 'room for another export' });
});

it('ends after its limit, and does not look whole', async () => {
  const { rows, ended } = endless();
  const { url } = await serve(rows, { wholeMs: 1_000 });
  const text = await untilCut(await answerTo(url, 'json'));
  expect(text).toContain('"number":1000');
  expect(() => JSON.parse(text) as unknown).toThrow();
  await ended;
});

it('ends within a second of the end of the session, and does not look whole', async () => {
  const { rows, ended } = endless();
  const { url, signOut } = await serve(rows);
  const answer = await answerTo(url, 'json');
  signOut();
  const sinceMs = performance.now();
  const text = await untilCut(answer);
  expect(performance.now() - sinceMs).toBeLessThan(atMostMs(1_000));
  expect(() => JSON.parse(text) as unknown).toThrow();
  await ended;
});

it('tells its source at once that its reader has left, before the first row and after it', async () => {
  const begun = Promise.withResolvers<undefined>();
  const left = Promise.withResolvers<undefined>();
  const { url, exports } = await serve(async function* (gone) {
    begun.resolve(undefined);
    await once(gone, 'abort');
    left.resolve(undefined);
    yield* [];
  });
  const sent = ask(url);
  sent.on('error', () => undefined);
  await begun.promise;
  sent.destroy();
  await left.promise;
  await waitFor(() => exports.begin(), { what: 'room for another export' });

  const { rows, ended } = endless();
  const other = await serve(rows);
  (await answerTo(other.url)).destroy();
  await ended;
});

it('is a page that says so where its source is away from the beginning, and leaves its place to others', async () => {
  const { url, exports } = await serve(async function* () {
    await Promise.reject(Object.assign(new Error('no server'), { code: 'ECONNREFUSED' }));
    yield* [];
  });
  const answer = await answerTo(url);
  expect(answer.statusCode).toBe(503);
  expect((await buffer(answer)).toString()).toContain('Not available at the moment');
  expect(exports.begin()).toBe(true);
});
