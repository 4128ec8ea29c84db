import type { FastifyInstance, FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { listProofKeys, readNewestHead } from '../../projections/proofs.ts';
import { readTile } from '../../projections/queries/tiles.ts';
import { tileOfPath, widthOf } from '../proof/tiles.ts';
import { ApiError } from './errors.ts';

const keptMs = 1_000;
/** Of at most 8 704 bytes each. */
const tilesKept = 500;

const public_ = { 'Access-Control-Allow-Origin': '*', 'X-Content-Type-Options': 'nosniff' };
const soon = { ...public_, 'Cache-Control': 'public, max-age=5' };
const never = { ...public_, 'Cache-Control': 'public, max-age=31536000, immutable' };

/**
 * The signed log of what was closed and invoiced, as C2SP tlog-tiles, for everybody: no key, none of the API's headers. Only what a
 * signed head covers is served. Hashes say nothing about accounts, money or downloads to who does not know the event.
 *
 * Requests cost little however many come: Postgres is asked for the newest head and for the keys once a second, and for a tile
 * while it is not among the newest ones asked for.
 */
export function registerTlogRoutes(server: FastifyInstance, { pool }: { pool: Pool }): void {
  const newestHead = keepForAMoment(() => readNewestHead(pool));
  const allKeys = keepForAMoment(() => listProofKeys(pool));
  const tiles = new LRUCache<string, Buffer>({ max: tilesKept });

  const readHead = async () => {
    const head = await newestHead();
    if (!head) throw new ApiError('not_found', 'No head of the log is signed yet');
    return head;
  };

  const get = (url: string, handler: (reply: FastifyReply, path: string) => Promise<FastifyReply>) => {
    server.get<{ Params: { '*'?: string } }>(url, { exposeHeadRoute: true }, (request, reply) =>
      handler(reply, request.params['*'] ?? ''),
    );
  };

  get('/tlog/checkpoint', async (reply) => {
    const { note } = await readHead();
    return reply.headers(soon).type('text/plain; charset=utf-8').send(note);
  });

  get('/tlog/keys', async (reply) => {
    await readHead();
    const keys = await allKeys();
    return reply
      .headers(soon)
      .type('text/plain; charset=utf-8')
      .send(keys.map((key) => `${key}\n`).join(''));
  });

  get('/tlog/tile/*', async (reply, path) => {
    const tile = tileOfPath(path);
    const { size } = await readHead();
    if (!tile || widthOf(tile, size) < tile.width) throw new ApiError('not_found');
    const bytes = tiles.get(path) ?? (await readTile(pool, tile));
    tiles.set(path, bytes);
    return reply.headers(never).type('application/octet-stream').send(bytes);
  });
}

/** Reads at most once in `keptMs`, however many ask; a read that fails is not kept. */
function keepForAMoment<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let kept: { atMs: number; value: Promise<Value> } | undefined;
  return async () => {
    if (!kept || performance.now() - kept.atMs > keptMs) kept = { atMs: performance.now(), value: read() };
    const { value } = kept;
    return value.catch((error: unknown) => {
      if (kept?.value === value) kept = undefined;
      throw error;
    });
  };
}
