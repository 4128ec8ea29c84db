import { listWaitingWarnings, type WaitingWarning } from '../../projections/usage-warnings.ts';
import type { Background } from '../async/background.ts';
import { readAccount } from '../commands/accounts.ts';
import { readWarning, recordWarningMail } from '../commands/record-warning-mail.ts';
import { listPeople } from '../domain/people.ts';
import type { PlanNames } from '../domain/plans.ts';
import { type LoggedMail, type MailDependencies, startMailing } from './send-mails.ts';
import { warningMail } from './warning-mail-text.ts';

interface WarningMailDependencies extends MailDependencies {
  /** Address of the console, as people reach it, without a slash at its end. */
  publicUrl: () => string;
  planNames: PlanNames;
}

/** Mails the warnings and reached caps to the people of the account. The mail's id is that of the notice. */
export const startMailingWarnings = (dependencies: WarningMailDependencies): Background =>
  startMailing(dependencies, {
    about: 'warning',
    list: listWaitingWarnings,
    read: (waiting) => readWarningMail(dependencies, waiting),
  });

async function readWarningMail(
  dependencies: WarningMailDependencies,
  { mail_id: eventId, account_id: accountId, stream }: WaitingWarning,
): Promise<LoggedMail> {
  const { planNames, store, publicUrl } = dependencies;
  const warning = await readWarning(store, { stream, eventId });
  if (!warning) throw new Error(`${stream} has no warning ${eventId}, though the read model has it`);
  return {
    isRecorded: warning.covers.length === 0,
    toldBy: warning.messageId,
    // The read model takes the events of one append in one batch or in two: the higher threshold may not be in it yet.
    isEarly: warning.awaitsHigher,
    compose: async () => {
      const people = listPeople((await readAccount(store, accountId)).people);
      if (people.length === 0) throw new Error(`${accountId} was never opened, though it has usage`);
      return warningMail(warning, { to: people.map(({ email }) => email), publicUrl: publicUrl(), planNames });
    },
    record: ({ messageId, timeoutMs }) => recordWarningMail(dependencies, warning, { messageId, timeoutMs }),
  };
}
