import { mailbox } from '../../domain/people.ts';
import type { Mailer } from '../../ports/billing.ts';
import type { SignInLinks } from '../../ports/console-sessions.ts';
import type { Outage } from '../../ports/outage.ts';

interface Dependencies {
  links: SignInLinks;
  mailer: Mailer;
  /** The keyed hashes of an e-mail address, under which people are found. */
  emailHashes: (email: string) => readonly string[];
  /** Origin of the console's pages. */
  origin: () => string;
  outage: Outage;
  newUuid: () => string;
  now: () => string;
}

export interface AskedLink {
  email: string;
  /** Secret of the browser that asked. */
  browser: string;
}

/** Beyond so many under way at a time, links are not sent, as if an address had no account. */
const maxUnderWay = 100;

/**
 * Mails links to addresses that have an account. Nobody waits for one: the time of an answer must not tell whether it is sent. A
 * link that is lost with the process is asked for again.
 */
export class SignInMails {
  readonly #dependencies: Dependencies;
  #underWay = 0;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  send(asked: AskedLink): void {
    if (this.#underWay >= maxUnderWay) return;
    this.#underWay += 1;
    const { outage } = this.#dependencies;
    this.#send(asked)
      .then(
        () => outage.works(),
        (error: unknown) => outage.failed('a sign-in link', error),
      )
      .finally(() => (this.#underWay -= 1));
  }

  async #send({ email, browser }: AskedLink): Promise<void> {
    const { links, mailer, emailHashes, origin, newUuid, now } = this.#dependencies;
    const secret = await links.create({ emailHashes: emailHashes(email), browser });
    if (secret === undefined) return;
    await mailer.send({
      id: newUuid(),
      // As people are found: another mailbox may be written with letters that only look the same when small.
      to: [mailbox(email)],
      date: now(),
      subject: 'Sign in to Reeltally',
      text: [
        'Somebody, probably you, asked to sign in to Reeltally with this address.',
        'This link signs you in. It works once, for 15 minutes:',
        '',
        `${origin()}/console/sign-in/${secret}`,
        '',
        'If it was not you, do nothing: without this mail nobody gets in.',
        '',
      ].join('\n'),
    });
  }
}
