import { hashIdempotencyKey } from '../../src/commands/ids/idempotency-key-hash.ts';
import { type LoggedEvent, readLog } from '../support/read-log.ts';

export interface LoggedDownload {
  token: string;
  /** Of its idempotency key; null for a request without one. */
  keyHash: string | null;
  voided: boolean;
}

/** Every download of an account in the log, whatever its period; each must have one charge, and be voided once at most. */
export async function downloadsOf(eventStoreUrl: string, accountId: string): Promise<LoggedDownload[]> {
  const events = await readLog(eventStoreUrl, `usage-${accountId}-`);
  const tokensWith = (...types: string[]) =>
    events.filter(({ type }) => types.includes(type)).map(({ data }) => (data as { token: string }).token);
  const charged = tokensWith('DownloadCreditDebited', 'OverageCharged');
  const voided = tokensWith('DownloadVoided');
  const confirmed = tokensWith('DownloadConfirmed');
  for (const [name, tokens] of Object.entries({ charged, voided, confirmed })) {
    if (new Set(tokens).size !== tokens.length) throw new Error(`a download of ${accountId} is ${name} twice`);
  }
  const both = confirmed.filter((token) => voided.includes(token));
  if (both.length > 0) throw new Error(`${both.join(', ')}: confirmed and voided`);
  const queued = events.filter(({ type }) => type === 'DownloadQueued');
  if (queued.length !== charged.length) throw new Error(`a charge of ${accountId} has no download, or the reverse`);
  return queued.map(({ data }) => downloadOf(data, new Set(voided)));
}

function downloadOf(data: LoggedEvent['data'], voided: ReadonlySet<string>): LoggedDownload {
  const { token, idempotency } = data as { token: string; idempotency: { key_hash: string } | null };
  return { token, keyHash: idempotency?.key_hash ?? null, voided: voided.has(token) };
}

/** Tokens of the downloads that an idempotency key is charged for in the end. */
export function standing(downloads: readonly LoggedDownload[], idempotencyKey: string): string[] {
  const keyHash = hashIdempotencyKey(idempotencyKey);
  return downloads.filter((each) => each.keyHash === keyHash && !each.voided).map(({ token }) => token);
}
