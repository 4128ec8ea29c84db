import type { Rule } from '../../src/audit/rules/rules.ts';
import { bytesOf, type ForgedLog, type Row, textOf } from './forged-log.ts';

interface Metadata {
  time: string;
  actor: object;
}

const metadataOf = ({ metadata }: Row) => JSON.parse(textOf(metadata)) as Metadata;
const keyIn = ({ data }: Row) => JSON.parse(textOf(data)) as { account_id: string; key_id: string };

function firstOf(log: ForgedLog, wanted: string, isMeant: (row: Row) => boolean = () => true): Row {
  const row = log.rows.find((each) => each.type === wanted && isMeant(each));
  if (!row) throw new Error(`the history has no ${wanted}`);
  return row;
}

function rewrite(log: ForgedLog, row: Row, changed: Partial<Metadata>): void {
  log.write(row.position, { metadata: bytesOf({ ...metadataOf(row), ...changed }) });
  log.rechain(row.stream_key);
}

/** A key opens the period in which it is issued. @returns the account */
function actBeforeIssue(log: ForgedLog): string {
  const { account_id: accountId, key_id: id } = keyIn(firstOf(log, 'ApiKeyIssued'));
  const opened = firstOf(log, 'UsagePeriodOpened', ({ name }) => name.includes(accountId));
  rewrite(log, opened, { actor: { type: 'api_key', id } });
  return accountId;
}

/** A key takes a credit so long after it was revoked. @returns the account */
function actAfterRevocation(log: ForgedLog, ms: number): string {
  const revoked = firstOf(log, 'ApiKeyRevoked');
  const { account_id: accountId, key_id: id } = keyIn(revoked);
  const taken = firstOf(log, 'DownloadCreditDebited', ({ name }) => name.includes(accountId));
  rewrite(log, taken, { actor: { type: 'api_key', id } });
  rewrite(log, revoked, { time: new Date(Date.parse(metadataOf(taken).time) - ms).toISOString() });
  return accountId;
}

/** When a key acts, how the log is changed for it, and the rules about the actor that it breaks. */
export const keyActs: readonly [string, (log: ForgedLog) => string, Rule[]][] = [
  ['before it is issued', actBeforeIssue, ['actor_key']],
  ['as long after its revocation as a request may go on', (log) => actAfterRevocation(log, 10_000), []],
  ['any later than that', (log) => actAfterRevocation(log, 10_001), ['actor_key_revoked']],
];
