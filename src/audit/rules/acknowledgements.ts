import { Chain } from './chain.ts';
import type { Report } from './divergence.ts';
import type { Link } from './event-schemas.ts';
import { isBySignedIn, roleOf } from './staff.ts';
import { acknowledgementsStream } from './streams.ts';

/** Examined divergences. Each acknowledgement names the facts of the divergence, a person, a reason and a reference. */
export class Acknowledgements extends Chain<null> {
  constructor(report: Report) {
    super(acknowledgementsStream, null, report);
  }

  check(event: Link): void {
    this.mustEqual('acknowledgement', event, { type: 'staff' }, 'metadata.actor.');
    const mayAcknowledge = !isBySignedIn(event) || roleOf(event) === 'admin';
    this.must('acknowledgement', mayAcknowledge, event, 'metadata.actor.role', 'admin, in the console');
  }
}
