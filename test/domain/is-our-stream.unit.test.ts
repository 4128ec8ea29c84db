import { describe, expect, it } from 'vitest';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { staffIdOf } from '../../src/commands/ids/reference-ids.ts';
import { RequestTokens } from '../../src/commands/ids/request-token.ts';
import { accountStream } from '../../src/domain/account-events.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import { correctionsStream } from '../../src/domain/correction-events.ts';
import { jobStream } from '../../src/domain/download-job-events.ts';
import { invoicesStream } from '../../src/domain/invoice-events.ts';
import { isOurStream } from '../../src/domain/is-our-stream.ts';
import { staffStream } from '../../src/domain/staff-events.ts';
import { newId, randomBits } from '../../src/system/clock-and-chance.ts';

describe('a stream is ours', () => {
  const accountId = newId('acc');
  const { tokenKey } = deriveKeys('a secret that is long enough for a test');
  const tokens = new RequestTokens(tokenKey, [], randomBits);

  it.each([
    accountStream(accountId),
    usageStream(accountId, { start: '2026-11-21T00:00:00.000Z' }),
    jobStream(tokens.issue()),
    invoicesStream(accountId),
    correctionsStream(accountId),
    staffStream(newId('stf')),
    staffStream(staffIdOf({ issuer: 'https://id.example.com', subject: 'somebody' })),
    'issuer',
    'audit-acknowledgements',
    'tree-heads',
  ])('by its exact form: %s', (stream) => {
    expect(isOurStream(stream)).toBe(true);
  });

  it.each([
    'account-1',
    'account-acc_short',
    `account-${accountId}-more`,
    `account-${accountId.toUpperCase()}`,
    'account-',
    'usage-acl-1',
    `usage-${accountId}`,
    `usage-${accountId}-2026-11-21`,
    `usage-${accountId}-20261121 `,
    'job-1',
    'job-3f2c7a9e-54f7-4f3e-9a0b-2d6a1f0c9b7e',
    'job-3f2c7a9e54f74f3e9a0b2d6a1f0c9b7e',
    'job-',
    `invoices-${accountId}-1`,
    `corrections-${accountId}-1`,
    'corrections-1',
    'staff-1',
    `staff-${accountId}`,
    'issuer-1',
    'audit-acknowledgements-1',
    'tree-heads-1',
    `$$account-${accountId}`,
    `x-account-${accountId}`,
    '',
  ])('but not %j', (stream) => {
    expect(isOurStream(stream)).toBe(false);
  });
});
