import { mailbox } from '../../domain/people.ts';
import type { Mailer } from '../../ports/billing.ts';
import type { ServicePart } from '../../ports/service-parts.ts';

interface Dependencies {
  /** @returns the secret of a new link; undefined for an address that nobody has, and beyond a limit */
  createLink: (asked: AskedLink) => Promise<string | undefined>;
  mailer: Mailer;
  /** Address of the page with the form, under which the links are. */
  address: () => string;
  /** Where one signs in, such as "Reeltally". */
  to: string;
  part: ServicePart;
  newUuid: () => string;
  now: () => string;
}

export interface AskedLink {
  email: string;
  /** Secret of the browser that asked. */
  browser: string;
  /** Address of the page that one gets to. Another browser gets to its path: what somebody has searched for is not mailed. */
  next: string;
}

/** Beyond so many under way at a time, links are not sent, as if nobody had the address. */
const maxUnderWay = 100;

/**
 * Mails links to addresses that somebody has. Nobody waits for one: the time of an answer must not tell whether it is sent. A
 * link that is lost with the process is asked for again.
 */
export function signInMails(dependencies: Dependencies): (asked: AskedLink) => void {
  const { part } = dependencies;
  let underWay = 0;
  return (asked) => {
    if (underWay >= maxUnderWay) return;
    underWay += 1;
    mailLink(asked, dependencies)
      .then(
        () => part.works(),
        (error: unknown) => part.failed('a sign-in link', error),
      )
      .finally(() => (underWay -= 1));
  };
}

async function mailLink(
  { email, browser, next }: AskedLink,
  { createLink, mailer, address, to, newUuid, now }: Dependencies,
): Promise<void> {
  const secret = await createLink({ email, browser, next });
  if (secret === undefined) return;
  await mailer.send({
    id: newUuid(),
    // As people are found: another mailbox may be written with letters that only look the same when small.
    to: [mailbox(email)],
    date: now(),
    subject: `Sign in to ${to}`,
    text: [
      `Somebody, probably you, asked to sign in to ${to} with this address.`,
      'This link signs you in. It works once, for 15 minutes:',
      '',
      `${address()}/${secret}?next=${encodeURIComponent(next.replace(/\?.*/s, ''))}`,
      '',
      'If it was not you, do nothing: without this mail nobody gets in.',
      '',
    ].join('\n'),
  });
}
