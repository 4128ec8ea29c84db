import { EventStoreDBClient } from '@eventstore/db-client';
import type { Rule } from '../../src/audit/rules/rules.ts';
import { bytesOf, textOf } from './forged-log.ts';
import type { ForgedLog } from './forged-log.ts';
import type { Random } from './random.ts';

/** What an event store offers to whoever may write: its events are still in the log, and readers of the stream do not see them. */
interface StreamTamper {
  kind: string;
  rules: readonly Rule[];
  tamper: (url: string, stream: string) => Promise<void>;
}

async function withClient(url: string, use: (client: EventStoreDBClient) => Promise<unknown>): Promise<void> {
  const client = EventStoreDBClient.connectionString(url);
  try {
    await use(client);
  } finally {
    await client.dispose();
  }
}

const hides = (kind: string, metadata: Parameters<EventStoreDBClient['setStreamMetadata']>[1]): StreamTamper => ({
  ...{ kind, rules: ['stream_truncated'] },
  tamper: (url, stream) => withClient(url, (client) => client.setStreamMetadata(stream, metadata)),
});

export const ofStreams: readonly StreamTamper[] = [
  hides('a stream truncated by $tb', { truncateBefore: 1 }),
  hides('a stream bounded by $maxCount', { maxCount: 2 }),
  hides('a stream bounded by $maxAge', { maxAge: 1 }),
  {
    ...{ kind: 'a stream deleted softly', rules: ['stream_truncated'] },
    tamper: (url, stream) => withClient(url, (client) => client.deleteStream(stream)),
  },
  {
    ...{ kind: 'a stream tombstoned', rules: ['stream_truncated'] },
    tamper: (url, stream) => withClient(url, (client) => client.tombstoneStream(stream)),
  },
];

interface Forgery {
  kind: string;
  /** @returns undefined where there was nothing to change */
  tamper: (log: ForgedLog, random: Random) => true | undefined;
}

/** Each changes the log with its chain right, and the read models are made anew from it: both tell the same story, and it is a possible one. */
export const onlyByCheckpoint: readonly Forgery[] = [
  {
    kind: 'the newest events of an account cut off, in the log and in Postgres',
    tamper: (log, random) => {
      const last = random.pick(
        log.rows
          .filter(
            ({ type }) => type === 'MetadataCreditVoided' || type === 'UsageWarningMailed' || type === 'FileExpired',
          )
          .filter(({ stream_key: key, revision }) => log.ofStream(key).length === revision + 1),
      );
      log.remove(last);
      return true;
    },
  },
  {
    kind: 'an account that never was',
    tamper: (log, random) => {
      const id =
        /acc_[a-z0-9]+/.exec(random.pick(log.rows.filter(({ name }) => name.startsWith('account-'))).name)?.[0] ?? '';
      const tokens = log.rows
        .filter(({ name }) => name.startsWith(`usage-${id}`))
        .flatMap(({ type, data }) =>
          type === 'DownloadQueued' ? [(JSON.parse(textOf(data)) as { token: string }).token] : [],
        );
      const isOf = (name: string) => name.includes(id) || tokens.some((token) => name === `job-${token}`);
      for (const row of log.rows) if (isOf(row.name)) log.run('delete from events where position = ?', row.position);
      for (const key of new Set(log.rows.filter(({ name }) => isOf(name)).map((row) => row.stream_key)))
        log.run('delete from streams where stream_key = ?', key);
      return true;
    },
  },
  {
    kind: 'another video of a download',
    tamper: (log, random) => {
      const row = random.pick(log.rows.filter(({ type }) => type === 'DownloadQueued'));
      const data = JSON.parse(textOf(row.data)) as object;
      log.write(row.position, { data: bytesOf({ ...data, video_id: 'forged', url: 'https://example.com/forged' }) });
      log.rechain(row.stream_key);
      return true;
    },
  },
  {
    kind: 'another reason for a waiver',
    tamper: (log, random) => {
      const isStaff = (metadata: Uint8Array) => textOf(metadata).includes('"staff"');
      const row = random.pick(log.rows.filter(({ type, metadata }) => type === 'ChargeWaived' && isStaff(metadata)));
      const metadata = JSON.parse(textOf(row.metadata)) as { actor: object };
      log.write(row.position, { metadata: bytesOf({ ...metadata, actor: { ...metadata.actor, reason: 'forged' } }) });
      log.rechain(row.stream_key);
      return true;
    },
  },
  {
    kind: 'another size and checksum of a file',
    tamper: (log, random) => {
      const row = random.pick(log.rows.filter(({ type }) => type === 'JobCompleted'));
      const data = JSON.parse(textOf(row.data)) as object;
      log.write(row.position, { data: bytesOf({ ...data, file_size_bytes: 1, file_sha256: 'f'.repeat(64) }) });
      log.rechain(row.stream_key);
      return true;
    },
  },
  {
    kind: 'another label and prefix of a key',
    tamper: (log, random) => {
      const row = random.pick(log.rows.filter(({ type }) => type === 'ApiKeyIssued'));
      const data = JSON.parse(textOf(row.data)) as object;
      log.write(row.position, { data: bytesOf({ ...data, key_prefix: 'forged', personal: { label: 'forged' } }) });
      log.rechain(row.stream_key);
      return true;
    },
  },
];
