import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { addMetadata } from '../../../src/commands/handler/event-metadata.ts';
import { chainHash, firstPreviousHash } from '../../../src/commands/handler/hash-chain.ts';
import type { JobEvent } from '../../../src/domain/download-job-events.ts';
import { canonicalJson } from '../unbroken-chain.ts';

const stream = 'job-TokenOfDownload-0001';
const token = 'TokenOfDownload-0001';
const cause = {
  commandId: '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11',
  correlationId: 'req-1',
  causationId: 'cmd-1',
  actor: { type: 'system', id: 'wrk_aaaaaaaaaaaaaaaa' } as const,
};
const started: JobEvent = { type: 'JobStarted', data: { token, worker_id: 'wrk_aaaaaaaaaaaaaaaa' } };
const failed: JobEvent = { type: 'JobFailed', data: { token, reason: 'geo_blocked', fault: 'video' } };
const time = '2026-11-14T10:00:00.000Z';

const chained = (events: readonly JobEvent[], at: Partial<Parameters<typeof addMetadata>[1]> = {}) =>
  addMetadata(
    events.map((event) => ({ event, cause })),
    { stream, expected: 'no_stream', previousHash: firstPreviousHash(stream), time, ...at },
  );

// The ids and hashes below were computed by another program, in another language.
const ids = ['72e53429-42f2-5e80-aede-f991cffdf953', 'f9cfb457-b6bf-52c4-9d14-6ca987e7645b'];
const hashes = [
  '92ee9844154f8bb49ce45debee4d98a6c1ae19e7353800e864c72ce74b998e9a',
  '9ad193dd80346b513a3dbda852bba155e4d9741d62c353b1e341011c26092fb6',
];

describe('events with their metadata', () => {
  it('carry who caused them, when, and their place in the chain', () => {
    const metadata = {
      $correlationId: 'req-1',
      $causationId: 'cmd-1',
      schema: 1,
      actor: { type: 'system', id: 'wrk_aaaaaaaaaaaaaaaa' },
      time,
    };
    expect(chained([started, failed])).toEqual({
      events: [
        { id: ids[0], ...started, metadata: { ...metadata, hash: hashes[0] } },
        { id: ids[1], ...failed, metadata: { ...metadata, hash: hashes[1] } },
      ],
      lastHash: hashes[1],
    });
  });

  it('carry the span that they come from where there is one, and the chain covers it', () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    const at = { stream, expected: 'no_stream', previousHash: firstPreviousHash(stream), time } as const;
    const { events, lastHash } = addMetadata([{ event: started, cause: { ...cause, traceparent } }], at);
    expect(events[0]?.metadata).toMatchObject({ $traceparent: traceparent, hash: lastHash });
    expect(lastHash).not.toBe(hashes[0]);
    const { hash: _hash, ...metadata } = events[0]?.metadata ?? {};
    const link = { stream, revision: 0, id: ids[0] ?? '', ...started, metadata };
    expect(lastHash).toBe(chainHash(firstPreviousHash(stream), link));
  });

  it('have ids that are UUIDv5 of the command and their index', () => {
    const idsFor = (commandId: string) =>
      addMetadata(
        [started, failed].map((event) => ({ event, cause: { ...cause, commandId } })),
        { stream, expected: 3, previousHash: firstPreviousHash(stream), time },
      ).events.map(({ id }) => id);
    // '0' in RFC 9562's name space for DNS, '1' in the one for URLs, as any other UUIDv5 tool gives them.
    expect(idsFor('6ba7b810-9dad-11d1-80b4-00c04fd430c8')[0]).toBe('6af613b6-569c-5c22-9c37-2ed93f31d3af');
    expect(idsFor('6ba7b811-9dad-11d1-80b4-00c04fd430c8')[1]).toBe('b80c8fef-a677-5340-85fb-2c162d75df03');
  });

  it('are the same bytes for the same input', () => {
    expect(JSON.stringify(chained([started, failed]))).toBe(JSON.stringify(chained([started, failed])));
  });

  it('are chained to the event before them', () => {
    const [first] = chained([started]).events;
    const later = chained([failed], { expected: 0, previousHash: String(first?.metadata['hash']) });
    expect(later.lastHash).not.toBe(chained([failed]).lastHash);
    const { hash: _hash, ...unchained } = later.events[0]!.metadata;
    const link = canonicalJson({ stream, revision: 1, id: ids[0], ...failed, metadata: unchained });
    const recomputed = createHash('sha256').update(Buffer.from(hashes[0]!, 'hex')).update(link).digest('hex');
    expect(later.lastHash).toBe(recomputed);
  });

  it.each<[string, Partial<Parameters<typeof chainHash>[1]>]>([
    ['the stream', { stream: 'job-TokenOfDownload-0002' }],
    ['the revision', { revision: 1 }],
    ['the id', { id: ids[1]! }],
    ['the type', { type: 'JobFailed' }],
    ['the data', { data: { token, worker_id: 'wrk_bbbbbbbbbbbbbbbb' } }],
    ['the metadata', { metadata: { time: '2026-11-14T10:00:00.001Z' } }],
  ])('have another hash when %s differs', (_what, change) => {
    const link = { stream, revision: 0, id: ids[0]!, ...started, metadata: { time } };
    const previous = firstPreviousHash(stream);
    expect(chainHash(previous, link)).toBe(chainHash(previous, { ...link }));
    expect(chainHash(previous, { ...link, ...change })).not.toBe(chainHash(previous, link));
  });
});

it("a stream's first event is chained to the SHA-256 of the stream's name", () => {
  expect(firstPreviousHash(stream)).toBe('dd0ae0646cc15ea9508b54d4fa4d89e05dce6b8ea813f67b92523d13619ddda4');
});
