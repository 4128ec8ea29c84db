import { type Command, Option } from 'commander';
import { notBelieved } from '../../projections/credits-macs.ts';
import {
  hasAdmin,
  listStaffMembers,
  listStaffOfAddress,
  readStaffMember,
  staff,
  type StaffMember,
} from '../../projections/staff.ts';
import {
  inviteStaff,
  issueStaffToken,
  readStaff,
  removeStaff,
  revokeStaffToken,
  type StaffOrder,
} from '../commands/staff.ts';
import { memberFacts, tokenFacts } from '../documents/staff-facts.ts';
import { facts } from '../documents/text.ts';
import { keyLabel } from '../domain/account-events.ts';
import { email as emailSchema } from '../domain/plain-text.ts';
import { refuse } from '../domain/refusals.ts';
import { defaultTokenDays, maxStaffTokens, maxTokenDays } from '../domain/staff.ts';
import { staffIdPattern, type StaffRole, staffRoles, type StaffScope, staffScopes } from '../domain/staff-events.ts';
import { MailNotTaken } from '../ports/billing.ts';
import { addByOptions, addPageOptions, type DecidedBy, operatorOf, wholeArgument } from './arguments.ts';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import {
  type Columns,
  CommandFailed,
  print,
  type RefusalTexts,
  requireText,
  rowsText,
  unlessRefused,
} from './output.ts';
import { type PageOptions, printPage, takePage } from './pagination.ts';
import { caughtUp, commandTimeoutMs, notInForce } from './wait-for-read-models.ts';

interface Invitation extends DecidedBy {
  email: string;
  role: StaffRole;
}

export function addInviteStaff(group: Command, run: RunCommand): void {
  const command = group
    .command('invite')
    .description(
      'make somebody a member of staff, and mail a link to sign in with once, or show it without a mail server',
    )
    .requiredOption('--email <email>', "the person's e-mail address")
    .addOption(new Option('--role <role>', 'what the person may do').choices(staffRoles).makeOptionMandatory());
  addByOptions(command).action((options: Invitation) => run((cli) => inviteCommand(cli, options)));
}

export function addListStaff(group: Command, run: RunCommand): void {
  addPageOptions(group.command('list').description('list the members of staff, removed ones included'), 'staff').action(
    (options: PageOptions) => run((cli) => listCommand(cli, options)),
  );
}

export function addLinkStaff(group: Command, run: RunCommand): void {
  group
    .command('link')
    .description('show a link with which a member of staff who was invited signs in once, where no mail brings one')
    .argument('<staff>', 'e-mail address or staff id; "staff list" shows both')
    .action((person: string) => run((cli) => linkCommand(cli, person)));
}

export function addRemoveStaff(group: Command, run: RunCommand): void {
  const command = group
    .command('remove')
    .description('remove a member of staff, whose sessions and tokens then end')
    .argument('<staff>', 'e-mail address or staff id; "staff list" shows both');
  addByOptions(command).action((person: string, options: DecidedBy) =>
    run((cli) => removeCommand(cli, person, options)),
  );
}

interface NewToken extends DecidedBy {
  label: string;
  scope: StaffScope[];
  days: number;
}

export function addStaffTokens(group: Command, run: RunCommand): void {
  const tokens = group
    .command('tokens')
    .description('issue, list and revoke the tokens of programs that read for staff');
  const issue = tokens
    .command('issue')
    .description('issue a token and show it once')
    .argument('<staff>', 'e-mail address or staff id of the member who answers for it')
    .addOption(new Option('--scope <scope...>', 'what the token may read').choices(staffScopes).makeOptionMandatory())
    .option('--label <label>', 'purpose of the token', '')
    .option('--days <days>', 'how long it is accepted', wholeArgument(1, maxTokenDays), defaultTokenDays);
  addByOptions(issue).action((person: string, options: NewToken) => run((cli) => issueCommand(cli, person, options)));
  tokens
    .command('list')
    .description('list the tokens of a member of staff')
    .argument('<staff>', 'e-mail address or staff id')
    .action((person: string) => run((cli) => listTokensCommand(cli, person)));
  const revoke = tokens
    .command('revoke')
    .description('revoke a token')
    .argument('<staff>', 'e-mail address or staff id')
    .argument('<token_id>', 'token id; "staff tokens list" shows it');
  addByOptions(revoke).action((person: string, tokenId: string, options: DecidedBy) =>
    run((cli) => revokeCommand(cli, { person, tokenId }, options)),
  );
}

const orderOf = (cli: CliDependencies, decided: DecidedBy): StaffOrder => ({
  by: { operator: operatorOf(cli.actor, decided) },
  timeoutMs: commandTimeoutMs,
});

async function inviteCommand(cli: CliDependencies, { email, role, ...decided }: Invitation): Promise<void> {
  requireText(emailSchema, email, email);
  const [known] = await membersOf(cli, email);
  if (known) throw new CommandFailed(`${email} is staff already, as ${known.staff_id} in the role ${known.role}`);
  const { staffId } = unlessRefused(await inviteStaff(cli, { email, role, ...orderOf(cli, decided) }));
  const link = (await cli.createStaffLink?.(staffId)) ?? null;
  const mailed = link !== null && (await mailLink(cli, { email, role, link }));
  // It is a way in: nobody is shown one that somebody else has got.
  const data = { staff_id: staffId, email, role, link: mailed ? null : link, mailed };
  print(cli.output, data, [facts(data), ...hintOf(cli, data)].join('\n\n'));
}

/** @returns whether the mail server has taken it */
async function mailLink(
  { mailStaffInvitation: mail }: CliDependencies,
  invitation: { email: string; role: StaffRole; link: string },
): Promise<boolean> {
  if (!mail) return false;
  try {
    await mail(invitation);
    return true;
  } catch (error) {
    if (error instanceof MailNotTaken) return false;
    throw error;
  }
}

const noConsole = 'No staff console is known here: set STAFF_URL where this command runs.';
const linkHint = 'The link signs in once, within a day. It is shown this once.';

function hintOf(
  cli: CliDependencies,
  { email, link, mailed }: { email: string; link: string | null; mailed: boolean },
) {
  if (mailed) return [`A link is on its way to ${email}. It signs in once, within a day.`];
  if (link === null) return [noConsole];
  const notMailed = cli.mailStaffInvitation ? ['The mail server has not taken the mail with the link.'] : [];
  return [[...notMailed, linkHint].join(' ')];
}

async function linkCommand(cli: CliDependencies, person: string): Promise<void> {
  const staffId = await findStaff(cli, person);
  const { member, removed } = await readStaff(cli, staffId);
  const { invited } = unlessRefused(
    member ?? refuse(removed ? 'staff_removed' : 'staff_not_found'),
    refusalTexts(person),
  );
  if (!invited) throw new CommandFailed(`${person} signs in by the OpenID provider, and needs no link`);
  const link = (await cli.createStaffLink?.(staffId)) ?? null;
  if (link === null) throw new CommandFailed(`no link: ${noConsole}`);
  print(cli.output, { staff_id: staffId, link }, `${facts({ staff_id: staffId, link })}\n\n${linkHint}`);
}

async function listCommand(cli: CliDependencies, { limit, after }: PageOptions): Promise<void> {
  const last = after === undefined ? undefined : await readStaffMember(cli.pool, after, cli.macs);
  if (last === notBelieved || (after !== undefined && !last))
    throw new CommandFailed(`there is no member ${after ?? ''}`);
  const found = await listStaffMembers(cli.pool, { ...(last && { after: last }), limit: limit + 1, macs: cli.macs });
  const { rows: members, next } = takePage(found, limit, (row) => row.staff_id);
  const staff = await Promise.all(
    // Addresses stand in the log alone, under keys that can be deleted.
    members.map(async (row) => memberFacts(row, await readStaff(cli, row.staff_id), cli.now())),
  );
  const columns = {
    staff_id: 'staff_id',
    role: 'role',
    email: 'email',
    since: 'since',
    removed_at: 'removed_at',
  } as const;
  const text = rowsText(cli.output, columns, staff);
  printPage(cli.output, { staff }, { next, text });
}

async function removeCommand(cli: CliDependencies, person: string, decided: DecidedBy): Promise<void> {
  const staffId = await findStaff(cli, person);
  const removed = unlessRefused(await removeStaff(cli, { staffId, ...orderOf(cli, decided) }), refusalTexts(person));
  await requireInForce(cli, `the removal of ${person}`);
  const data = { staff_id: staffId, removed: true, has_admin: await hasAdmin(cli.pool) };
  const text = `${removed.email ?? staffId} is not staff any more`;
  print(cli.output, data, data.has_admin ? text : `${text}; nobody is an admin now: "staff invite" makes one`);
}

async function issueCommand(
  cli: CliDependencies,
  person: string,
  { label, scope: scopes, days: lifetimeDays, ...decided }: NewToken,
): Promise<void> {
  requireText(keyLabel, 'the label', label);
  const staffId = await findStaff(cli, person);
  const order = { staffId, label, scopes, lifetimeDays, ...orderOf(cli, decided) };
  const issued = unlessRefused(await issueStaffToken(cli, order), refusalTexts(person));
  const data = { staff_id: staffId, ...tokenFacts(issued, { isStaff: true, now: cli.now() }), token: issued.token };
  print(cli.output, data, `${facts({ ...data, scopes: scopes.join(', ') })}\n\nThe token is shown this once.`);
}

async function listTokensCommand(cli: CliDependencies, person: string): Promise<void> {
  const staffId = await findStaff(cli, person);
  const { member, tokens, removed } = await readStaff(cli, staffId);
  unlessRefused(member ?? refuse('staff_not_found'), refusalTexts(person));
  const rows = [...tokens.values()].map((token) => tokenFacts(token, { isStaff: !removed, now: cli.now() }));
  print(cli.output, { staff_id: staffId, tokens: rows }, rowsText(cli.output, tokenColumns, rows));
}

const tokenColumns: Columns<ReturnType<typeof tokenFacts>> = {
  token_id: 'token_id',
  prefix: 'prefix',
  scopes: ({ scopes }) => scopes.join(', '),
  expires_at: 'expires_at',
  revoked: 'revoked',
  label: 'label',
};

async function revokeCommand(
  cli: CliDependencies,
  { person, tokenId }: { person: string; tokenId: string },
  decided: DecidedBy,
): Promise<void> {
  const staffId = await findStaff(cli, person);
  const answer = await revokeStaffToken(cli, { staffId, tokenId, ...orderOf(cli, decided) });
  const revoked = unlessRefused(answer, refusalTexts(person));
  await requireInForce(cli, `the revocation of ${tokenId}`);
  print(cli.output, { staff_id: staffId, token_id: tokenId, revoked: true }, `${revoked.tokenPrefix}… is revoked`);
}

/** @throws {CommandFailed} while the read model, by which sessions and tokens are known, is behind */
async function requireInForce(cli: CliDependencies, what: string): Promise<void> {
  if (!(await caughtUp(cli, staff))) throw notInForce(what);
}

/** @returns a staff id, which may be nobody's */
async function findStaff(cli: CliDependencies, person: string): Promise<string> {
  if (staffIdPattern.test(person)) return person;
  const [member, ...others] = await membersOf(cli, person);
  const { staff_id: staffId } = unlessRefused(member ?? refuse('staff_not_found'), refusalTexts(person));
  if (others.length > 0) throw new CommandFailed(`${person} is the address of several members: give a staff id`);
  return staffId;
}

async function membersOf(cli: CliDependencies, email: string): Promise<StaffMember[]> {
  if (!(await caughtUp(cli, staff))) throw new CommandFailed('the read model of staff is behind the log: try again', 2);
  return listStaffOfAddress(cli.pool, { email, macs: cli.macs, limit: 2 });
}

const refusalTexts = (person: string): RefusalTexts => ({
  staff_not_found: `there is no member of staff ${person}: "staff list" shows those there are`,
  staff_removed: `${person} is not staff any more`,
  key_not_found: `${person} has no such token: "staff tokens list" shows those there are`,
  too_many_keys: `${person} has ${String(maxStaffTokens)} tokens, the most that a member may have: revoke one first`,
});
