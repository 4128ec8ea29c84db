/**
 * The honest alternative: the same API as a plain service on the same Postgres, one statement after the other, written as one
 * would write it in an afternoon. No events, no exact window: counters per clock hour, and rows that change in place. The first
 * argument says which queue it hands downloads to, or that a stored procedure does all that a download needs.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import pg from 'pg';
import { z } from 'zod';
import { openQueue, type QueuedJob } from './queues.ts';

const kind = process.argv[2];
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 16 });

const crudSchema = `
  create table if not exists crud_accounts (
    id text primary key, downloads_limit int not null, used int not null default 0,
    overage_cents int not null default 0, overage_price int not null, hourly_limit int not null
  );
  create table if not exists crud_keys (hash text primary key, account_id text not null references crud_accounts, revoked boolean not null default false);
  create table if not exists crud_windows (key_hash text not null, hour timestamptz not null, count int not null, primary key (key_hash, hour));
  create table if not exists crud_jobs (
    token text primary key, account_id text not null, platform text not null, video_id text not null, url text not null,
    format text not null, quality text not null, status text not null, file_name text, file_size bigint,
    created_at timestamptz not null default now()
  );
  create table if not exists crud_charges (
    id bigserial primary key, account_id text not null, token text not null, cents int not null, created_at timestamptz not null default now()
  );`;

const procedureSql = `
  create or replace function crud_download(
    given_hash text, given_token text, given_video_id text, given_url text, given_format text, given_quality text
  ) returns table (hourly_limit int, requests int, credits int) language plpgsql as $$
  declare
    account crud_accounts;
  begin
    insert into crud_windows as w values (given_hash, date_trunc('hour', now()), 1)
    on conflict (key_hash, hour) do update set count = w.count + 1 returning w.count into requests;
    update crud_accounts a set used = a.used + 1,
      overage_cents = a.overage_cents + case when a.used < a.downloads_limit then 0 else a.overage_price end
    from crud_keys k where k.hash = given_hash and not k.revoked and a.id = k.account_id returning a.* into account;
    if not found then return; end if;
    insert into crud_charges (account_id, token, cents)
    values (account.id, given_token, case when account.used <= account.downloads_limit then 0 else account.overage_price end);
    insert into crud_jobs (token, account_id, platform, video_id, url, format, quality, status)
    values (given_token, account.id, 'youtube', given_video_id, given_url, given_format, given_quality, 'queued');
    hourly_limit := account.hourly_limit;
    credits := account.downloads_limit - account.used;
    return next;
  end $$`;

interface Key {
  account_id: string;
  hourly_limit: number;
}

const unauthorized = { success: false, error: { code: 'unauthorized', message: 'Missing or invalid API key.' } };

function hashOf(request: FastifyRequest): string {
  const raw = (request.headers.authorization ?? '').replace('Bearer ', '');
  return createHash('sha256').update(raw).digest('hex');
}

async function admit(request: FastifyRequest): Promise<{ key: Key; remaining: number } | undefined> {
  const hash = hashOf(request);
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

interface Download extends QueuedJob {
  videoId: string;
  url: string;
}

function downloadOf(body: unknown): Download {
  const { url, format, quality } = download.parse(body);
  const videoId = new URL(url).searchParams.get('v') ?? '';
  return { token: randomBytes(16).toString('base64url'), videoId, url, format, quality };
}

const dataOf = ({ token, videoId, format, quality }: Download) => ({
  request_token: token,
  status: 'queued',
  platform: 'youtube',
  video_id: videoId,
  format,
  quality,
});

const queue = await openQueue(kind, pool);

async function downloadByStatements(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const admitted = await admit(request);
  if (!admitted) return reply.code(401).send(unauthorized);
  const wanted = downloadOf(request.body);
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
      wanted.token,
      cents,
    ]);
    const { token, videoId, url, format, quality } = wanted;
    await client.query(
      'insert into crud_jobs (token, account_id, platform, video_id, url, format, quality, status) values ($1, $2, $3, $4, $5, $6, $7, $8)',
      [token, admitted.key.account_id, 'youtube', videoId, url, format, quality, 'queued'],
    );
    await queue.beforeCommit(client, wanted);
    await client.query('commit');
    await queue.afterCommit(wanted);
    const left = Math.max(account.downloads_limit - account.used - 1, 0);
    headers(reply, admitted).header('x-credits-remaining', String(left));
    return await reply.code(202).send({ success: true, data: dataOf(wanted) });
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

async function downloadByProcedure(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const wanted = downloadOf(request.body);
  const { rows } = await pool.query<{ hourly_limit: number; requests: number; credits: number }>({
    name: 'download',
    text: 'select * from crud_download($1, $2, $3, $4, $5, $6)',
    values: [hashOf(request), wanted.token, wanted.videoId, wanted.url, wanted.format, wanted.quality],
  });
  const admitted = rows[0];
  if (!admitted) return reply.code(401).send(unauthorized);
  return reply
    .code(202)
    .header('x-ratelimit-limit', String(admitted.hourly_limit))
    .header('x-ratelimit-remaining', String(Math.max(admitted.hourly_limit - admitted.requests, 0)))
    .header('x-credits-remaining', String(Math.max(admitted.credits, 0)))
    .send({ success: true, data: dataOf(wanted) });
}

server.post('/api/v1/video/download', kind === 'procedure' ? downloadByProcedure : downloadByStatements);

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
await pool.query(procedureSql);
console.log(JSON.stringify({ url: await server.listen({ port: 0, host: '127.0.0.1' }) }));
