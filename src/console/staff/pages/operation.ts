import { html } from '../../../documents/html.ts';
import { count, time } from '../../parts.ts';
import { page } from '../../visit.ts';
import type { Answer, StaffVisit } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import { operation } from '../views/operation.ts';

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { audit } = await see(operation, viewerOf(visit), dependencies, inputOf(visit));
  return page({
    title: 'Operation',
    section: 'operation',
    content: html`<h2>Verification</h2>
      ${
        audit
          ? html`<dl class="facts">
              <dt>Events verified</dt>
              <dd>${count(audit.events)}</dd>
              <dt>Divergences</dt>
              <dd>${count(audit.unknown)} not acknowledged, ${count(audit.known)} acknowledged</dd>
              <dt>All of the log</dt>
              <dd>${audit.caught_up_at === null ? 'not verified yet' : time(audit.caught_up_at)}</dd>
            </dl>`
          : html`<p>The verification has said nothing yet.</p>`
      }`,
  });
}
