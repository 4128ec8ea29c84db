import type { Command } from 'commander';
import { invitePerson, removePerson } from '../commands/accounts.ts';
import { facts } from '../documents/text.ts';
import type { AccountRefusal } from '../domain/account.ts';
import { type ActivePerson, findPerson, listPeople, maxPeople } from '../domain/people.ts';
import { email as emailSchema } from '../domain/plain-text.ts';
import { refuse } from '../domain/refusals.ts';
import { requireAccount } from './accounts/find-account-usage.ts';
import { accountIdArgument } from './arguments.ts';
import { type CliDependencies, requestOf, type RunCommand } from './dependencies.ts';
import { print, requireText, rowsText, unlessRefused } from './output.ts';

export function addInvitePerson(people: Command, run: RunCommand): void {
  people
    .command('invite')
    .description('add a person by e-mail address; the same address again changes nothing')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<email>', "the person's e-mail address")
    .action((account: string, email: string) => run((cli) => inviteCommand(cli, account, email)));
}

export function addListPeople(people: Command, run: RunCommand): void {
  people
    .command('list')
    .description('list the people of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => listCommand(cli, account)));
}

export function addRemovePerson(people: Command, run: RunCommand): void {
  people
    .command('remove')
    .description('remove a person; an account keeps at least one')
    .argument('<account>', 'account id', accountIdArgument)
    .argument('<person>', 'e-mail address or person id; "people list" shows both')
    .action((account: string, person: string) => run((cli) => removeCommand(cli, account, person)));
}

async function inviteCommand(cli: CliDependencies, accountId: string, email: string): Promise<void> {
  requireText(emailSchema, email, email);
  const answer = await invitePerson(cli, { accountId, email, ...requestOf(cli) });
  const invited = unlessRefused(answer, refusalTexts(accountId, email));
  const data = { account_id: accountId, ...rowOf(invited) };
  print(cli.output, data, facts(data));
}

async function listCommand(cli: CliDependencies, accountId: string): Promise<void> {
  const people = listPeople((await requireAccount(cli, accountId)).people).map(rowOf);
  const text = rowsText(cli.output, { person_id: 'person_id', since: 'since', email: 'email' }, people);
  print(cli.output, { account_id: accountId, people }, text);
}

async function removeCommand(cli: CliDependencies, accountId: string, person: string): Promise<void> {
  const personId = person.includes('@')
    ? findPerson((await requireAccount(cli, accountId)).people, person)?.personId
    : person;
  const answer =
    personId === undefined
      ? refuse('person_not_found')
      : await removePerson(cli, { accountId, personId, ...requestOf(cli) });
  const { email, personId: removed } = unlessRefused(answer, refusalTexts(accountId, person));
  const data = { account_id: accountId, person_id: removed, removed: true };
  print(cli.output, data, `${email ?? removed} is removed from ${accountId}`);
}

const rowOf = ({ personId, since, email }: ActivePerson) => ({ person_id: personId, since, email });

function refusalTexts(
  accountId: string,
  person: string,
): Record<AccountRefusal<'invite_person' | 'remove_person'>, string> {
  const most = String(maxPeople);
  return {
    account_not_found: `there is no account ${accountId}`,
    account_erased: `nothing was changed: the personal data of ${accountId} is erased`,
    person_not_found: `${accountId} has no person ${person}: "people list ${accountId}" shows those it has`,
    last_person: `${person} is the last person of ${accountId}: invite another first`,
    too_many_people: `${accountId} has ${most} people, the most that an account may have: remove one first`,
    too_many_invitations: `${most} people were invited to ${accountId} within an hour, the most that may be: try again later`,
  };
}
