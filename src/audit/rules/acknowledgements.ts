import type { Report } from './divergence.ts';
import type { Link } from './event-schemas.ts';
import { Chain } from './chain.ts';

/** Where divergences that were examined are acknowledged. */
export const acknowledgementsStream = 'audit-acknowledgements';

/** Divergences that somebody has examined and answers for: each names its facts, a person, a reason and a reference. */
export class Acknowledgements extends Chain {
  constructor(report: Report) {
    super(acknowledgementsStream, report);
  }

  check(event: Link): void {
    this.mustEqual('acknowledgement', event, { type: 'staff' }, 'metadata.actor.');
  }
}
