import { Chain } from './chain.ts';
import type { Report } from './divergence.ts';
import type { Link } from './event-schemas.ts';
import { issuerStream } from './streams.ts';

/** The issuer's name and address, which are no account's business to change. */
export class Issuer extends Chain<null> {
  constructor(report: Report) {
    super(issuerStream, null, report);
  }

  check(event: Link): void {
    const isOurs = event.metadata.actor.type === 'staff' || event.metadata.actor.type === 'system';
    this.must('details_actor', isOurs, event, 'metadata.actor.type', 'staff or system');
  }
}
