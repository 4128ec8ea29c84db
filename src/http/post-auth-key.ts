import { z } from 'zod';
import { issueApiKey } from '../commands/accounts.ts';
import { NotStored, OutcomeUnknown } from '../commands/handler/handle-command.ts';
import type { AccountRefusal } from '../domain/account.ts';
import { keyLabel } from '../domain/account-events.ts';
import { contractTimestamp } from '../domain/instant.ts';
import { maxKeysOf } from '../domain/plans.ts';
import { isRefused } from '../domain/refusals.ts';
import { termsAt } from '../domain/usage-periods.ts';
import { EventStoreUnavailable } from '../ports/event-store.ts';
import { readJsonBody } from '../requests/json-body.ts';
import { callerOf } from './caller.ts';
import { currentUsage } from './current-usage.ts';
import type { Endpoint } from './endpoint.ts';
import { sendData, timestamp } from './envelope.ts';
import { ApiError, textsOfAccount } from './errors.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { readInput } from './request-input.ts';

const appendBudgetMs = 5_000;

const body = z
  .object(
    { label: keyLabel.default('').describe('A name, to tell the keys of an account apart.') },
    'must be a JSON object',
  )
  .default({ label: '' });

const issuedKey = z
  .strictObject({
    key: z.string().describe('The key itself. It is shown this once and stored nowhere.'),
    key_prefix: z.string().describe('The beginning of the key, to recognise it by.'),
    label: z.string(),
    created_at: timestamp.describe('When it was issued, in UTC.'),
  })
  .meta({ id: 'IssuedKey' });

export const authKeyReference: EndpointReference = {
  operationId: 'issueKey',
  tag: 'Account',
  summary: 'Issue another API key, which is shown once',
  description:
    'The new key belongs to the same account, works at once, and has an hourly limit of its own. Costs nothing. ' +
    "The account's plan limits how many keys may be in force at a time, and as many may be issued within an hour; beyond that, the answer is `400`. " +
    'An owner may send it with a session of the console in place of a key: its cookie, its `Origin`, and its form token in `X-CSRF-Token`.',
  body: { schema: body, required: false },
  success: { status: 201, description: 'The new key.', data: issuedKey },
  errors: [],
};

/** Contract §4.5. The key is shown only once it is in force, and never again. */
export const postAuthKey: Endpoint['handler'] = (dependencies) => async (request, reply) => {
  const caller = callerOf(request);
  const { label } = readInput(body, readJsonBody(request.body, request.raw.headers['content-type']));
  const { accounts, keyInForce, now, partsAway } = dependencies;
  const terms = termsAt(await currentUsage(request, dependencies), now());
  // Else a key that has leaked would make one without a limit.
  if (terms.key_limits?.[caller.actor.id])
    throw new ApiError(
      'invalid_request',
      'this API key has a limit, and so issues no others: the owner does, in the console',
    );
  const maxKeys = maxKeysOf(terms);
  const issued = await issueApiKey(accounts, {
    accountId: caller.accountId,
    label,
    maxKeys,
    correlationId: request.id,
    actor: caller.actor,
    timeoutMs: appendBudgetMs,
  }).catch((error: unknown) => {
    const away = [NotStored, OutcomeUnknown, EventStoreUnavailable].some((kind) => error instanceof kind);
    throw away ? new ApiError('unavailable', { away: 'event_store' }) : error;
  });
  partsAway.works('event_store');
  if (isRefused(issued)) throw errorOf(issued.refusal, maxKeys);
  const inForce = await keyInForce(issued.keyId).catch(() => false);
  if (!inForce) throw new ApiError('unavailable', { away: 'read_models' });
  partsAway.works('read_models');
  return sendData(reply, 201, {
    key: issued.key,
    key_prefix: issued.keyPrefix,
    label: issued.label,
    created_at: contractTimestamp(issued.createdAt),
  } satisfies z.infer<typeof issuedKey>);
};

function errorOf(refusal: AccountRefusal<'issue_key'>, maxKeys: number): ApiError {
  switch (refusal) {
    case 'too_many_new_keys':
      return new ApiError(
        'invalid_request',
        `the account was issued ${String(maxKeys)} API keys in the past hour, as many as its plan allows: try again in an hour`,
      );
    case 'too_many_keys':
      return new ApiError(
        'invalid_request',
        `the account has ${String(maxKeys)} API keys in force, as many as its plan allows: have one revoked first`,
      );
    case 'account_closed':
      return new ApiError('unauthorized', textsOfAccount.account_closed);
    case 'account_not_found':
      return new ApiError('unauthorized');
  }
}
