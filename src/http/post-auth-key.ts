import { z } from 'zod';
import { issueApiKey } from '../commands/accounts.ts';
import { NotStored, OutcomeUnknown } from '../commands/handle.ts';
import { EventStoreUnavailable } from '../commands/ports.ts';
import { keyLabel } from '../domain/account-events.ts';
import { maxActiveKeys } from '../domain/account.ts';
import { isRefused } from '../domain/refusals.ts';
import { actorOf, callerOf } from './caller.ts';
import type { Endpoint } from './endpoints.ts';
import { contractTimestamp, sendData } from './envelope.ts';
import { ApiError } from './errors.ts';
import { readInput, readJsonBody } from './request-input.ts';

const appendBudgetMs = 5_000;

const body = z.object({ label: keyLabel.default('') }, 'must be a JSON object').default({ label: '' });

/** Contract §4.5. The key is shown only once it is in force, and never again. */
export const postAuthKey: Endpoint['handler'] =
  ({ accounts, keyInForce }) =>
  async (request, reply) => {
    const caller = callerOf(request);
    const { label } = readInput(body, readJsonBody(request.body, request.raw.headers['content-type']));
    const issued = await issueApiKey(accounts, {
      accountId: caller.accountId,
      label,
      correlationId: request.id,
      actor: actorOf(caller),
      timeoutMs: appendBudgetMs,
    }).catch((error: unknown) => {
      const away = [NotStored, OutcomeUnknown, EventStoreUnavailable].some((kind) => error instanceof kind);
      throw away ? new ApiError('unavailable') : error;
    });
    if (isRefused(issued)) {
      throw new ApiError('invalid_request', `the account has ${String(maxActiveKeys)} keys already: revoke one first`);
    }
    const inForce = await keyInForce(issued.keyId).catch(() => false);
    if (!inForce) throw new ApiError('unavailable');
    return sendData(reply, 201, {
      key: issued.key,
      key_prefix: issued.keyPrefix,
      label: issued.label,
      created_at: contractTimestamp(issued.createdAt),
    });
  };
