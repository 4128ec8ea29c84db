import { randomUUID } from 'node:crypto';
import { askCorrection } from '../../../src/commands/correct.ts';
import { accepted } from '../../support/accepted.ts';
import { call } from '../../support/client.ts';
import { ended } from '../../support/downloads.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import type { Staff } from './staff-of.ts';

/** An account with a download in its plan, which is done, and a failed one beyond it, about which somebody has complained. */
export interface Complaint {
  accountId: string;
  email: string;
  key: string;
  keyId: string;
  /** In the plan: one credit. */
  done: string;
  /** $0.25, of which 5 cents are given back. */
  failed: string;
  /** Of the failed one. */
  idempotencyKey: string;
  requestId: string;
  reference: string;
}

/** Needs a worker and a dispatcher that run. */
export async function makeComplaint(service: Staff): Promise<Complaint> {
  const { cli, sampleUrl } = service.installation;
  const { url } = service.api;
  const email = `complaint-${randomUUID().slice(0, 8)}@example.com`;
  const accountId = await service.openAccount(email, 'dev_100');
  await cli(['accounts', 'terms', accountId, '--downloads', '1', '--hourly', '500']);
  const { key, key_id: keyId } = await cli<{ key: string; key_id: string }>([
    ...['keys', 'issue', accountId, '--label', 'nightly import'],
  ]);
  const queue = async (item: string, headers = {}) => {
    const { data, headers: answered } = await call(url, '/video/download', {
      key,
      body: { url: sampleUrl(item) },
      headers,
    });
    const token = String(data['request_token']);
    await ended(url, key, token);
    return { token, requestId: answered.get('x-request-id') ?? '' };
  };
  const { token: done } = await queue('bars');
  const idempotencyKey = `order-${randomUUID()}`;
  const { token: failed, requestId } = await queue('private', { 'idempotency-key': idempotencyKey });
  const reference = `case-${randomUUID().slice(0, 8)}`;
  await cli([
    ...['ledger', 'waive', failed, '--cents', '5', '--reference', reference],
    ...['--by', 'Ada', '--reason', 'the film was cut'],
  ]);
  const isThere = async () =>
    (await service.sql('select from job_timeline where token = $1 and type = $2', [failed, 'ChargeWaived'])).length > 0;
  await waitFor(isThere, { what: 'the waiver in the read model' });
  return { accountId, email, key, keyId, done, failed, idempotencyKey, requestId, reference };
}

/** Somebody of support asks to give back the rest of the failed download. @returns the correction's id */
export async function askFor(service: Staff, { accountId, failed }: Complaint): Promise<string> {
  const { staffId } = await service.invite('support');
  const [job] = await service.sql<{ usage_stream: string; usage_revision: string }>(
    'select usage_stream, usage_revision from jobs where token = $1',
    [failed],
  );
  const correctionId = randomUUID();
  const charge = { token: failed, revision: Number(job?.usage_revision) - 1 };
  accepted(
    await askCorrection(service.commands, {
      accountId,
      correctionId,
      reference: `ask-${correctionId.slice(0, 8)}`,
      limitCents: 5_000,
      timeoutMs: patienceMs,
      by: { staffId, reason: 'the customer is right' },
      correction: { kind: 'charges', stream: job?.usage_stream ?? '', charges: [charge] },
    }),
  );
  const isThere = async () =>
    (await service.sql('select from corrections where correction_id = $1', [correctionId])).length > 0;
  await waitFor(isThere, { what: 'the correction in the read model' });
  return correctionId;
}
