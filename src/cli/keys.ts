import type { Command } from 'commander';
import { type KeyWithUse, listKeysWithUse } from '../../projections/admission/key-use.ts';
import { waitForKey } from '../../projections/api-keys.ts';
import { issueReferencedKey, openFirstPeriod, revokeApiKey } from '../commands/accounts.ts';
import { facts } from '../documents/text.ts';
import { keyLabel } from '../domain/account-events.ts';
import { maxKeysOf } from '../domain/plans.ts';
import { termsAt } from '../domain/usage-periods.ts';
import { currentUsage, requireAccount } from './accounts/find-account-usage.ts';
import { accountIdArgument, referenceArgument } from './arguments.ts';
import { type CliDependencies, requestOf, type RunCommand } from './dependencies.ts';
import {
  type Columns,
  CommandFailed,
  print,
  type RefusalTexts,
  requireText,
  rowsText,
  unlessRefused,
} from './output.ts';
import { notInForce, untilShown } from './wait-for-read-models.ts';

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
    .argument('<key_id>', 'key id; "keys list" shows it')
    .action((keyId: string) => run((cli) => revokeCommand(cli, keyId)));
}

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

function refusalTexts(accountId: string, maxKeys: number): RefusalTexts {
  const allowed = `${String(maxKeys)} API keys, as many as its terms allow ("accounts terms ${accountId} --keys" changes that)`;
  return {
    too_many_keys: `${accountId} has ${allowed}: revoke one first`,
    too_many_new_keys: `in the past hour ${accountId} was issued ${allowed}`,
  };
}

const shownNow = 'The key is shown only once; nobody can show it again.';

const shownBefore = (revoked: boolean) =>
  `The key was shown once, when it was issued under this reference${revoked ? ', and has been revoked since' : ''}. ` +
  'Nobody can show it again: if nobody has it, revoke it and issue another under another reference.';

async function listCommand(cli: CliDependencies, accountId: string): Promise<void> {
  await requireAccount(cli, accountId);
  const keys = await listKeysWithUse(cli.pool, accountId);
  print(cli.output, { account_id: accountId, keys }, rowsText(cli.output, keyColumns, keys));
}

const keyColumns: Columns<KeyWithUse> = {
  key_id: 'key_id',
  key_prefix: 'key_prefix',
  created_at: 'created_at',
  revoked_at: (key) => key.revoked_at ?? '-',
  label: 'label',
};

async function revokeCommand(cli: CliDependencies, keyId: string): Promise<void> {
  const accountId = await accountOfKey(cli, keyId);
  const revoked = await revokeApiKey(cli, { accountId, keyId, ...requestOf(cli) });
  unlessRefused(revoked, { key_not_found: `there is no key ${keyId}` });
  const inForce = await untilShown(cli, (timeoutMs) => waitForKey(cli.pool, keyId, { revoked: true, timeoutMs }));
  if (!inForce) throw notInForce(`the revocation of ${keyId}`);
  const data = { account_id: accountId, key_id: keyId, revoked: true };
  print(cli.output, data, `${keyId} is revoked; every process refuses it`);
}

async function accountOfKey({ pool }: CliDependencies, keyId: string): Promise<string> {
  const { rows } = await pool.query<{ account_id: string }>('select account_id from api_keys where key_id = $1', [
    keyId,
  ]);
  const accountId = rows[0]?.account_id;
  if (accountId === undefined) throw new CommandFailed(`there is no key ${keyId}`);
  return accountId;
}
