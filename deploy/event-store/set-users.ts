/**
 * Makes the user of the service in an EventStoreDB with TLS, or sets its password again, and gives it the least rights: it reads
 * and appends, reads `$all`, and may neither delete a stream nor write its metadata. Nobody without a user may do anything. It may
 * run again at any time, and changes nothing that is right already.
 *
 * EVENTSTORE_URL_FILE: file with the address of the service, with the user and password to be. EVENTSTORE_ADMIN_FILE: file with
 * `admin:password` of an administrator.
 */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { BACKWARDS, END, EventStoreDBClient, jsonEvent, StreamNotFoundError } from '@eventstore/db-client';

const admins = '$admins';
const read = (name: string) => readFileSync(process.env[name] ?? fail(`${name} is not set`), 'utf8').trim();

function fail(why: string): never {
  throw new Error(why);
}

const url = new URL(
  read('EVENTSTORE_URL_FILE')
    .replace(/^esdb(\+discover)?:/, 'https:')
    .replace(/,[^/?]*/, ''),
);
const [user, password] = [url.username, url.password].map(decodeURIComponent) as [string, string];
const administrator = read('EVENTSTORE_ADMIN_FILE');
const certificates = readFileSync(url.searchParams.get('tlsCAFile') ?? fail('the address names no tlsCAFile'));

interface Answer {
  status: number;
  body: string;
}

/** One order to the user management, which the node passes on to the leader. */
async function manage(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
  const sent = request({
    hostname: url.hostname,
    port: url.port || 2113,
    path,
    method,
    auth: administrator,
    ca: certificates,
    timeout: 10_000,
  });
  sent.on('timeout', () => sent.destroy(new Error(`${path} is not answered`)));
  sent.setHeader('content-type', 'application/json').end(body === undefined ? '' : JSON.stringify(body));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, body: await text(answer) };
}

async function makeUser(): Promise<void> {
  const known = await manage('GET', `/users/${user}`);
  if (known.status === 200) requireNoGroups(JSON.parse(known.body) as KnownUser);
  const { status } =
    known.status === 200
      ? await manage('POST', `/users/${user}/command/reset-password`, { newPassword: password })
      : await manage('POST', '/users/', { loginName: user, fullName: 'Reeltally', groups: [], password });
  if (status >= 300) fail(`the user ${user} could not be made: status ${status}`);
}

interface KnownUser {
  data: { groups: string[] };
}

/** Administrators keep their rights, whatever is set below. */
function requireNoGroups({ data: { groups } }: KnownUser): void {
  if (groups.length > 0)
    fail(`the user ${user} is in the groups ${groups.join(', ')}: name a user of the service's own in its address`);
}

const ours = [user, admins];
const rights = {
  $userStreamAcl: { $r: ours, $w: ours, $d: admins, $mr: ours, $mw: admins },
  $systemStreamAcl: { $r: admins, $w: admins, $d: admins, $mr: admins, $mw: admins },
};
/** For `$all`, which has the rights of system streams otherwise. */
const rightsOfLog = { readRoles: ours, metaReadRoles: ours };

async function lastOf(client: EventStoreDBClient, stream: string): Promise<unknown> {
  try {
    for await (const { event } of client.readStream(stream, { direction: BACKWARDS, fromRevision: END, maxCount: 1 }))
      return event?.data;
  } catch (error) {
    if (!(error instanceof StreamNotFoundError)) throw error;
  }
  return undefined;
}

async function setRights(client: EventStoreDBClient): Promise<void> {
  if (!isDeepStrictEqual(await lastOf(client, '$settings'), rights))
    await client.appendToStream('$settings', jsonEvent({ type: '$settings', data: rights }));
  const { metadata } = await client.getStreamMetadata('$all');
  if (!isDeepStrictEqual(metadata?.acl, rightsOfLog))
    await client.setStreamMetadata('$all', { ...metadata, acl: rightsOfLog });
}

await makeUser();
const [adminName = '', ...rest] = administrator.split(':');
const address = read('EVENTSTORE_URL_FILE').replace(
  /\/\/[^@]*@/,
  `//${encodeURIComponent(adminName)}:${encodeURIComponent(rest.join(':'))}@`,
);
const client = EventStoreDBClient.connectionString(address);
await setRights(client);
process.stdout.write(`The user ${user} reads and appends; it deletes nothing and writes no metadata of streams.\n`);
// Not dispose(): after a read that has ended it never settles.
process.exit();
