import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Rule } from '../../src/audit/rules/rules.ts';
import { withOfficialClient } from '../support/official-client.ts';
import { bytesOf, type ForgedLog, type Row, textOf } from './forged-log.ts';
import type { Random } from './random.ts';

/** Any writer may hide events of a stream: they are still in the log, but readers of the stream do not see them. */
interface StreamTamper {
  kind: string;
  rules: readonly Rule[];
  tamper: (url: string, stream: string) => Promise<unknown>;
}

const hides = (
  kind: string,
  tamper: (client: EventStoreDBClient, stream: string) => Promise<unknown>,
): StreamTamper => ({
  kind,
  rules: ['stream_truncated'],
  tamper: (url, stream) => withOfficialClient(url, (client) => tamper(client, stream)),
});

export const ofStreams: readonly StreamTamper[] = [
  hides('a stream truncated by $tb', (client, stream) => client.setStreamMetadata(stream, { truncateBefore: 1 })),
  hides('a stream bounded by $maxCount', (client, stream) => client.setStreamMetadata(stream, { maxCount: 2 })),
  hides('a stream bounded by $maxAge', (client, stream) => client.setStreamMetadata(stream, { maxAge: 1 })),
  hides('a stream deleted softly', (client, stream) => client.deleteStream(stream)),
  hides('a stream tombstoned', (client, stream) => client.tombstoneStream(stream)),
];

interface Forgery {
  kind: string;
  tamper: (log: ForgedLog, random: Random) => void;
}

/** Other values of some fields of an event. */
const rewritten = (kind: string, wanted: string, changed: object): Forgery => ({
  kind,
  tamper: (log, random) => {
    const row = random.pick(log.rows.filter(({ type }) => type === wanted));
    log.write(row.position, { data: bytesOf({ ...(JSON.parse(textOf(row.data)) as object), ...changed }) });
    log.rechain(row.stream_key);
  },
});

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
    },
  },
  {
    kind: 'an account that never was',
    tamper: (log, random) => {
      const accounts = log.rows.filter(({ name }) => name.startsWith('account-'));
      // The first invoice of all is the leaf of a signed head.
      const others = accounts.filter(({ name }) => name !== accounts[0]?.name);
      const id = /acc_[a-z0-9]+/.exec(random.pick(others).name)?.[0] ?? '';
      const tokens = log.rows
        .filter(({ name }) => name.startsWith(`usage-${id}`))
        .flatMap(({ type, data }) =>
          type === 'DownloadQueued' ? [(JSON.parse(textOf(data)) as { token: string }).token] : [],
        );
      const isOf = (name: string) => name.includes(id) || tokens.some((token) => name === `job-${token}`);
      for (const row of log.rows) if (isOf(row.name)) log.run('delete from events where position = ?', row.position);
      for (const key of new Set(log.rows.filter(({ name }) => isOf(name)).map((row) => row.stream_key)))
        log.run('delete from streams where stream_key = ?', key);
    },
  },
  rewritten('another video of a download', 'DownloadQueued', { video_id: 'forged', url: 'https://example.com/forged' }),
  {
    kind: 'another reason for what somebody of staff has given back, and for the request that permits it',
    tamper: (log, random) => {
      const reasonOf = ({ metadata }: Row) =>
        (JSON.parse(textOf(metadata)) as { actor: { reason?: string } }).actor.reason;
      const reasons = log.rows.filter(({ type }) => type === 'CorrectionAsked').map(reasonOf);
      const reason = random.pick(reasons);
      const changed = log.rows.filter((row) => reason !== undefined && reasonOf(row) === reason);
      for (const row of changed) {
        const metadata = JSON.parse(textOf(row.metadata)) as { actor: object };
        log.write(row.position, { metadata: bytesOf({ ...metadata, actor: { ...metadata.actor, reason: 'forged' } }) });
      }
      for (const key of new Set(changed.map((row) => row.stream_key))) log.rechain(key);
    },
  },
  rewritten('another size and checksum of a file', 'JobCompleted', {
    file_size_bytes: 1,
    file_sha256: 'f'.repeat(64),
  }),
  rewritten('another label and prefix of a key', 'ApiKeyIssued', {
    key_prefix: 'forged',
    personal: { label: 'forged' },
  }),
];
