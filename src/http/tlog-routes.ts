import type { FastifyInstance, FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { listProofKeys, readNewestHead } from '../../projections/proofs.ts';
import { readTile } from '../../projections/queries/tiles.ts';
import { pathOfOrigin } from '../domain/tree-heads.ts';
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
 * signed head covers is served. Each origin has a path of its own, so that no cache takes a tile of one for that of another. Hashes
 * say nothing about accounts, money or downloads to who does not know the event.
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
  /** Only the newest origin is served. */
  const readHeadAt = async (path: string) => {
    const head = await readHead();
    const itsPath = pathOfOrigin(head.origin);
    if (path !== itsPath) throw new ApiError('not_found', `The log is at ${itsPath}`);
    return head;
  };

  const get = (
    url: string,
    handler: (reply: FastifyReply, at: { path: string; tile: string }) => Promise<FastifyReply>,
  ) => {
    server.get<{ Params: { begun?: string; '*'?: string } }>(url, { exposeHeadRoute: true }, (request, reply) => {
      const { begun, '*': tile = '' } = request.params;
      return handler(reply, { path: begun === undefined ? '/tlog' : `/tlog/${begun}`, tile });
    });
  };

  get('/tlog/keys', async (reply) => {
    await readHead();
    const keys = await allKeys();
    return reply
      .headers(soon)
      .type('text/plain; charset=utf-8')
      .send(keys.map((key) => `${key}\n`).join(''));
  });

  for (const prefix of ['/tlog', '/tlog/:begun']) {
    get(`${prefix}/checkpoint`, async (reply, { path }) => {
      const { note } = await readHeadAt(path);
      return reply.headers(soon).type('text/plain; charset=utf-8').send(note);
    });

    get(`${prefix}/tile/*`, async (reply, { path, tile: name }) => {
      const tile = tileOfPath(name);
      const { size } = await readHeadAt(path);
      if (!tile || widthOf(tile, size) < tile.width) throw new ApiError('not_found');
      const address = `${path}/${name}`;
      const bytes = tiles.get(address) ?? (await readTile(pool, tile));
      tiles.set(address, bytes);
      return reply.headers(never).type('application/octet-stream').send(bytes);
    });
  }
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
