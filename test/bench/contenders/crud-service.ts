/**
 * The honest alternative: the same API as a plain service on the same Postgres, one statement after the other, written as one
 * would write it in an afternoon. No events, no queue, no exact window: counters per clock hour, and rows that change in place.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import Fastify from 'fastify';
import type { FastifyRequest } from 'fastify';
import pg from 'pg';
import { z } from 'zod';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 16 });

const crudSchema = `
  create table crud_accounts (
    id text primary key, downloads_limit int not null, used int not null default 0,
    overage_cents int not null default 0, overage_price int not null, hourly_limit int not null
  );
  create table crud_keys (hash text primary key, account_id text not null references crud_accounts, revoked boolean not null default false);
  create table crud_windows (key_hash text not null, hour timestamptz not null, count int not null, primary key (key_hash, hour));
  create table crud_jobs (
    token text primary key, account_id text not null, platform text not null, video_id text not null, url text not null,
    format text not null, quality text not null, status text not null, file_name text, file_size bigint,
    created_at timestamptz not null default now()
  );
  create table crud_charges (
    id bigserial primary key, account_id text not null, token text not null, cents int not null, created_at timestamptz not null default now()
  );`;

interface Key {
  account_id: string;
  hourly_limit: number;
}

const unauthorized = { success: false, error: { code: 'unauthorized', message: 'Missing or invalid API key.' } };

async function admit(request: FastifyRequest): Promise<{ key: Key; remaining: number } | undefined> {
  const raw = (request.headers.authorization ?? '').replace('Bearer ', '');
  const hash = createHash('sha256').update(raw).digest('hex');
  const found = await pool.query<Key>(
    'select k.account_id, a.hourly_limit from crud_keys k join crud_accounts a on a.id = k.account_id where k.hash = $1 and not k.revoked',
    [hash],
  );
  const key = found.rows[0];
  if (!key) return undefined;
  const counted = await pool.query<{ count: number }>(
    `insert into crud_windows values ($1, date_trunc('hour', now()), 1)
     on conflict (key_hash, hour) do update set count = crud_windows.count + 1 returning count`,
    [hash],
  );
  return { key, remaining: key.hourly_limit - (counted.rows[0]?.count ?? 0) };
}

const download = z.object({
  url: z.url(),
  format: z.enum(['video', 'audio']).default('video'),
  quality: z.string().default('best'),
});
const linkKey = randomBytes(32);
const server = Fastify();

server.post('/api/v1/video/download', async (request, reply) => {
  const admitted = await admit(request);
  if (!admitted) return reply.code(401).send(unauthorized);
  const { url, format, quality } = download.parse(request.body);
  const videoId = new URL(url).searchParams.get('v') ?? '';
  const token = randomBytes(16).toString('base64url');
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query<{ used: number; downloads_limit: number; overage_price: number }>(
      'select used, downloads_limit, overage_price from crud_accounts where id = $1 for update',
      [admitted.key.account_id],
    );
    const account = rows[0];
    if (!account) throw new Error('no account');
    const cents = account.used < account.downloads_limit ? 0 : account.overage_price;
    await client.query('update crud_accounts set used = used + 1, overage_cents = overage_cents + $2 where id = $1', [
      admitted.key.account_id,
      cents,
    ]);
    await client.query('insert into crud_charges (account_id, token, cents) values ($1, $2, $3)', [
      admitted.key.account_id,
      token,
      cents,
    ]);
    await client.query(
      'insert into crud_jobs (token, account_id, platform, video_id, url, format, quality, status) values ($1, $2, $3, $4, $5, $6, $7, $8)',
      [token, admitted.key.account_id, 'youtube', videoId, url, format, quality, 'queued'],
    );
    await client.query('commit');
    const left = Math.max(account.downloads_limit - account.used - 1, 0);
    headers(reply, admitted).header('x-credits-remaining', String(left));
    const data = { request_token: token, status: 'queued', platform: 'youtube', video_id: videoId, format, quality };
    return await reply.code(202).send({ success: true, data });
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
});

server.get('/api/v1/video/status', async (request, reply) => {
  const admitted = await admit(request);
  if (!admitted) return reply.code(401).send(unauthorized);
  const { token } = request.query as { token: string };
  const { rows } = await pool.query<{ status: string; video_id: string; file_name: string | null; file_size: string }>(
    'select status, video_id, file_name, file_size from crud_jobs where token = $1 and account_id = $2',
    [token, admitted.key.account_id],
  );
  const job = rows[0];
  if (!job) return reply.code(404).send({ success: false });
  headers(reply, admitted);
  const data = { request_token: token, status: job.status, video_id: job.video_id };
  if (job.file_name === null) return reply.send({ success: true, data });
  const expires = Math.floor(Date.now() / 1000) + 3600;
  const path = `/files/${token}/${job.file_name}?expires=${expires}&nonce=${randomBytes(8).toString('hex')}`;
  const signature = createHmac('sha256', linkKey).update(path).digest('base64url');
  return reply.send({
    success: true,
    data: { ...data, download_url: `${path}&signature=${signature}`, file_size_bytes: Number(job.file_size) },
  });
});

server.get('/api/v1/credits', async (request, reply) => {
  const admitted = await admit(request);
  if (!admitted) return reply.code(401).send(unauthorized);
  const { rows } = await pool.query<{ used: number; downloads_limit: number; overage_cents: number }>(
    'select used, downloads_limit, overage_cents from crud_accounts where id = $1',
    [admitted.key.account_id],
  );
  return headers(reply, admitted).send({ success: true, data: rows[0] });
});

function headers<Reply extends { header: (name: string, value: string) => Reply }>(
  reply: Reply,
  { key, remaining }: { key: Key; remaining: number },
): Reply {
  return reply
    .header('x-ratelimit-limit', String(key.hourly_limit))
    .header('x-ratelimit-remaining', String(Math.max(remaining, 0)));
}

await pool.query(crudSchema);
console.log(JSON.stringify({ url: await server.listen({ port: 0, host: '127.0.0.1' }) }));
