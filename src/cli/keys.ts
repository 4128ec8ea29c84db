import { type Command, InvalidArgumentError } from 'commander';
import { type KeyWithUse, listKeysWithUse } from '../../projections/admission/key-use.ts';
import { findKeys, waitForKey } from '../../projections/api-keys.ts';
import { issueReferencedKey, openFirstPeriod, revokeApiKey } from '../commands/accounts.ts';
import { ownCause } from '../commands/handler/event-metadata.ts';
import { hashApiKey, keyLength, keyPrefixLength } from '../commands/ids/api-key.ts';
import { limitKey } from '../commands/limit-key.ts';
import { facts } from '../documents/text.ts';
import type { AccountRefusal } from '../domain/account.ts';
import { keyLabel } from '../domain/account-events.ts';
import { formatCents } from '../domain/cents.ts';
import { endOfDay, type KeyLimit, type KeyUse, limitParts, noUse } from '../domain/key-limits.ts';
import { largestAllowance, maxKeysOf } from '../domain/plans.ts';
import { keyUseAt, termsAt } from '../domain/usage-periods.ts';
import { accepted, untilInForce } from './accounts/apply-change.ts';
import { currentUsage, requireAccount, snapshotOf } from './accounts/find-account-usage.ts';
import { accountIdArgument, centsOrNoneArgument, dayArgument, referenceArgument, wholeArgument } from './arguments.ts';
import { type CliDependencies, requestOf, type RunCommand } from './dependencies.ts';
import { type Columns, CommandFailed, print, requireText, rowsText, unlessRefused } from './output.ts';
import { commandTimeoutMs, notInForce, untilShown } from './wait-for-read-models.ts';

interface IssueOptions {
  label: string;
  reference?: string;
}

export function addIssueKey(keys: Command, run: RunCommand): void {
  keys
    .command('issue')
    .description('issue a key and show it once')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--label <label>', 'purpose of the key', '')
    .option(
      '--reference <reference>',
      'your own name for the key; the same reference issues no second key',
      referenceArgument,
    )
    .action((account: string, options: IssueOptions) => run((cli) => issueCommand(cli, account, options)));
}

export function addListKeys(keys: Command, run: RunCommand): void {
  keys
    .command('list')
    .description('list the keys of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => listCommand(cli, account)));
}

export function addRevokeKey(keys: Command, run: RunCommand): void {
  keys
    .command('revoke')
    .description('revoke a key; when this returns, every process refuses it')
    .argument('<key>', 'key id, or how the key begins; "keys list" shows both')
    .action((key: string) => run((cli) => revokeCommand(cli, key)));
}

export function addLimitKey(keys: Command, run: RunCommand): void {
  keys
    .command('limit')
    .description('limit what a key may use in a billing period; what is not given stays as it is')
    .argument('<key>', 'key id, or how the key begins; "keys list" shows both')
    .option('--downloads <number>', 'downloads, or none for no limit', downloadsArgument)
    .option('--overage-cents <cents>', 'cents beyond the allowance, or none for no limit', centsOrNoneArgument)
    .option('--until <day>', 'last day on which the key is valid, YYYY-MM-DD, or none', lastDayArgument)
    .action((key: string, options: LimitOptions) => run((cli) => limitCommand(cli, key, options)));
}

interface LimitOptions {
  downloads?: number | 'none';
  overageCents?: number | 'none';
  /** The end of the last day, or none. */
  until?: string;
}

const downloadsArgument = (value: string) => (value === 'none' ? value : wholeArgument(0, largestAllowance)(value));

function lastDayArgument(value: string): string {
  if (value === 'none') return value;
  const until = endOfDay(dayArgument(value));
  if (until === undefined)
    throw new InvalidArgumentError('the last day is 9999-12-30 at the latest; none means no last day');
  return until;
}

async function limitCommand(
  cli: CliDependencies,
  key: string,
  { downloads, overageCents, until }: LimitOptions,
): Promise<void> {
  if (downloads === undefined && overageCents === undefined && until === undefined)
    throw new CommandFailed('nothing to change: give --downloads, --overage-cents or --until, or several of them');
  const { accountId, keyId } = await findKey(cli, key);
  const answer = await limitKey(cli, {
    accountId,
    keyId,
    changes: {
      ...(downloads !== undefined && { downloads: orNull(downloads) }),
      ...(overageCents !== undefined && { overage_cents: orNull(overageCents) }),
      ...(until !== undefined && { until: orNull(until) }),
    },
    snapshot: await snapshotOf(cli, accountId),
    cause: ownCause(cli.newUuid(), cli.actor),
    timeoutMs: commandTimeoutMs,
  });
  const change = accepted(answer, {
    key_not_found: `nothing was changed: the key ${keyId} is revoked, and its limit can only be removed, with none`,
    account_closed: 'nothing was changed: the account is closed, and its keys are revoked',
  });
  await untilInForce(cli, change, `the limit of ${keyId}`);
  const { events, usage } = change;
  const limit = usage.terms.key_limits?.[keyId] ?? null;
  const used = keyUseAt(usage, cli.now())[keyId] ?? noUse;
  const data = { account_id: accountId, key_id: keyId, limit, used, changed: events.length > 0 };
  const text = limit ? `may use ${limitParts(limit).join(', ')} in a billing period` : 'has no limit of its own';
  print(cli.output, data, `${keyId} ${text}; used so far: ${useText(used)}`);
}

const orNull = <Value>(given: Value | 'none'): Value | null => (given === 'none' ? null : given);

const useText = ({ downloads, overage_cents: cents }: KeyUse): string =>
  `${String(downloads)} downloads, ${formatCents(cents)} of overage`;

async function issueCommand(
  cli: CliDependencies,
  accountId: string,
  { label, reference }: IssueOptions,
): Promise<void> {
  requireText(keyLabel, 'the label', label);
  const refused = await openFirstPeriod(cli, accountId, requestOf(cli));
  if (refused) throw new CommandFailed(`there is no account ${accountId}`);
  const maxKeys = maxKeysOf(termsAt(await currentUsage(cli, accountId), cli.now()));
  const answer = await issueReferencedKey(cli, { accountId, label, reference, maxKeys, ...requestOf(cli) });
  const issued = unlessRefused(answer, refusalTexts(accountId, maxKeys));
  const { key, keyId, keyPrefix, revoked } = issued;
  const data = { account_id: accountId, key_id: keyId, key, key_prefix: keyPrefix, label: issued.label };
  const inForce = await untilShown(cli, (timeoutMs) => waitForKey(cli.pool, keyId, { revoked, timeoutMs }));
  // A key that is shown may be used at once, and must never be answered 401.
  if (!inForce) {
    const unseen = key === null ? '' : '. The key is not shown before that: revoke it, and issue another';
    throw notInForce(keyId, unseen);
  }
  print(cli.output, data, `${facts(data)}\n\n${key === null ? shownBefore(revoked) : shownNow}`);
}

function refusalTexts(accountId: string, maxKeys: number): Record<AccountRefusal<'issue_key'>, string> {
  const allowed = `${String(maxKeys)} API keys, as many as its terms allow ("accounts terms ${accountId} --keys" changes that)`;
  return {
    ...accountTexts(accountId),
    too_many_keys: `${accountId} has ${allowed}: revoke one first`,
    too_many_new_keys: `in the past hour ${accountId} was issued ${allowed}`,
  };
}

const accountTexts = (accountId: string) => ({
  account_not_found: `there is no account ${accountId}`,
  account_closed: `the account ${accountId} is closed: its keys are revoked, and it gets no others`,
});

const shownNow = 'The key is shown only once; nobody can show it again.';

const shownBefore = (revoked: boolean) =>
  `The key was shown once, when it was issued under this reference${revoked ? ', and has been revoked since' : ''}. ` +
  'Nobody can show it again: if nobody has it, revoke it and issue another under another reference.';

async function listCommand(cli: CliDependencies, accountId: string): Promise<void> {
  await requireAccount(cli, accountId);
  const usage = await currentUsage(cli, accountId);
  const keys = (await listKeysWithUse(cli.pool, { accountId, macs: cli.macs })).map((key) => {
    const limit = termsAt(usage, cli.now()).key_limits?.[key.key_id] ?? null;
    return { ...key, limit, used_of_limit: limit && (keyUseAt(usage, cli.now())[key.key_id] ?? noUse) };
  });
  print(cli.output, { account_id: accountId, keys }, rowsText(cli.output, keyColumns, keys));
}

type LimitedKey = KeyWithUse & { limit: KeyLimit | null; used_of_limit: KeyUse | null };

const keyColumns: Columns<LimitedKey> = {
  key_id: 'key_id',
  key_prefix: 'key_prefix',
  created_at: 'created_at',
  revoked_at: (key) => key.revoked_at ?? '-',
  limit: ({ limit }) => (limit ? limitParts(limit).join(', ') : '-'),
  label: 'label',
};

async function revokeCommand(cli: CliDependencies, key: string): Promise<void> {
  const { accountId, keyId } = await findKey(cli, key);
  const revoked = await revokeApiKey(cli, { accountId, keyId, ...requestOf(cli) });
  const whyNot: Record<AccountRefusal<'revoke_key'>, string> = {
    ...accountTexts(accountId),
    key_not_found: `there is no key ${keyId}`,
  };
  unlessRefused(revoked, whyNot);
  const inForce = await untilShown(cli, (timeoutMs) => waitForKey(cli.pool, keyId, { revoked: true, timeoutMs }));
  if (!inForce) throw notInForce(`the revocation of ${keyId}`);
  const data = { account_id: accountId, key_id: keyId, revoked: true };
  print(cli.output, data, `${keyId} is revoked; every process refuses it`);
}

/** @param text the id of a key, the beginning that people see, or all of it, of which each character counts */
async function findKey(cli: CliDependencies, text: string): Promise<{ accountId: string; keyId: string }> {
  if (text.startsWith('rtk_')) return await findKeyOfBeginning(cli, text);
  const { rows } = await cli.pool.query<{ account_id: string }>('select account_id from api_keys where key_id = $1', [
    text,
  ]);
  const accountId = rows[0]?.account_id;
  if (accountId === undefined) throw new CommandFailed(`there is no key ${text}`);
  return { accountId, keyId: text };
}

async function findKeyOfBeginning({ pool }: CliDependencies, text: string) {
  if (text.length < keyPrefixLength)
    throw new CommandFailed(
      `${text} is too short: give the ${String(keyPrefixLength)} characters that "keys list" shows, or the key's id`,
    );
  // Of a whole key, no more than others may see.
  const keyPrefix = text.slice(0, keyPrefixLength);
  const isWhole = text.length >= keyLength;
  const [key, another] = await findKeys(pool, isWhole ? { keyHash: hashApiKey(text) } : { keyPrefix });
  if (!key)
    throw new CommandFailed(
      isWhole ? `there is no such key; it begins with ${keyPrefix}` : `there is no key that begins with ${keyPrefix}`,
    );
  if (another)
    throw new CommandFailed(`several keys begin with ${keyPrefix}, ${key.key_id} and ${another.key_id}: give the id`);
  return { accountId: key.account_id, keyId: key.key_id };
}
