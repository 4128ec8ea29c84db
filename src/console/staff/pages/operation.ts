import { acknowledgeDivergence } from '../../../commands/acknowledge-divergence.ts';
import { ownCause } from '../../../commands/handler/event-metadata.ts';
import { actingStaff } from '../../../commands/staff.ts';
import { type Html, html, numberCell } from '../../../documents/html.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { hasRole } from '../../../domain/staff.ts';
import { doneAt, doneNote, foldedForm } from '../../form-fields.ts';
import { count, day, facts, figures, listTable, note, progress, rowName, tag, time } from '../../parts.ts';
import { type Answer, badInput, missing, redirect, type StaffVisit } from '../../visit.ts';
import { accountLink, correctionPath, eventPath } from '../addresses.ts';
import { pageRefusalFor, readReference, referenceField } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { orderOf, reasonField } from '../staff-request.ts';
import { verdictNote } from '../verification.ts';
import { seeAs, viewPage } from '../view.ts';
import { type Books, books } from '../views/books.ts';

/** The books: what the verification says, the read models, and periods that should be closed. */

const named: typeof books = {
  ...books,
  named: ({ audit, periods_not_closed: periods }) => [
    ...audit.divergences.map(({ facts: found }) => found),
    ...audit.notices,
    ...periods,
  ],
};

export const show = viewPage(named, {
  title: 'Operation',
  section: 'operation',
  content: (shown, visit) =>
    html`${parts('books')} ${verification(shown.audit)} ${divergences(shown.audit, visit)} ${approvals(shown.audit)}
    ${periods(shown)} ${readModels(shown)}`,
});

const partNames = { books: 'Books', work: 'Queue and workers', notices: 'Warnings and mails' } as const;

/** @param current the part that is open */
export const parts = (current: keyof typeof partNames): Html =>
  html`<nav class="pages" aria-label="Parts of the operation">
    ${Object.entries(partNames).map(([part, name]) => {
      const path = part === 'books' ? '/staff/operation' : `/staff/operation/${part}`;
      return part === current
        ? html`<strong aria-current="page">${name}</strong>`
        : html`<a href="${path}">${name}</a>`;
    })}
  </nav>`;

function verification(audit: Books['audit']): Html {
  const { events, position, head, caught_up_at: caughtUpAt, written_at: writtenAt } = audit;
  return html`<h2>Verification</h2>
    ${verdictNote(audit, { isElsewhere: false })}
    ${head === null && note('warn', 'The log does not answer: how far read models are behind, and what was acknowledged, is not known.')}
    ${
      writtenAt !== null &&
      figures([
        {
          name: 'Verified',
          value: count(events),
          of: 'events since it began',
          details: [position === null ? undefined : html`up to position <code>${position}</code>`],
          bar:
            position !== null &&
            head !== null &&
            progress('Positions of the log that are verified', Number(position), Number(head)),
        },
        {
          name: 'Whole log last verified',
          value: caughtUpAt === null ? 'not yet' : time(caughtUpAt),
          details: [html`Last report ${time(writtenAt)}`],
        },
      ])
    }`;
}

function divergences(audit: Books['audit'], visit: StaffVisit): Html | false {
  if (audit.divergences.length === 0) return false;
  const mayAcknowledge = hasRole(visit.session.role, 'admin');
  return html`<h2 id="divergences">Divergences</h2>
    ${doneNote(visit, { acknowledged: 'The divergence is acknowledged, with your name and your reason.' })}
    <p>
      These values do not follow from the log. Find out why, mend it (<code>projections rebuild</code> for a read
      model), or acknowledge that it may stay.
      ${
        audit.unknown + audit.known > audit.divergences.length &&
        `These are the first ${count(audit.divergences.length)} of ${count(audit.unknown + audit.known)}; ledger verify lists all.`
      }
    </p>
    ${audit.divergences.map(
      ({ id, facts: found, acknowledgement: known }) =>
        html`<section class="divergence">
          <h3>${found.rule} ${known ? tag('acknowledged', 'info') : tag('new', 'bad')}</h3>
          ${facts([
            found.account_id !== null && ['Account', accountLink(found)],
            ['Where', html`<code>${found.field}</code> of event ${found.revision} of <code>${found.stream}</code>`],
            ['Expected', html`<code>${JSON.stringify(found.expected)}</code>`],
            ['Found', html`<code>${JSON.stringify(found.found)}</code>`],
            known !== null && [
              'Acknowledged',
              html`${time(known.time)} by <code>${known.by}</code> under ${known.reference}: ${known.reason} (<a
                  href="${eventPath(known.event_id)}"
                  >event</a
                >)`,
            ],
          ])}
          ${known === null && mayAcknowledge && acknowledgeForm(id, visit)}
        </section>`,
    )}
    ${
      !mayAcknowledge &&
      audit.divergences.some(({ acknowledgement }) => acknowledgement === null) &&
      html`<p class="soft">An admin acknowledges divergences.</p>`
    }`;
}

const noticeTexts: Readonly<Record<Books['audit']['notices'][number]['notice'], string>> = {
  invited: 'one of the two had invited the other within seven days',
  not_told_apart: 'one of the two had no e-mail address: they may be one person',
};

function approvals({ notices }: Books['audit']): Html | false {
  if (notices.length === 0) return false;
  return html`<h2>Approvals to look at</h2>
    <p>The rules allow them, and finance looks at them all the same.</p>
    ${listTable('Approvals to look at', notices.toReversed(), {
      Approved: (each) => html`<a data-row href="${correctionPath(each.correction_id)}">${time(each.approved_at)}</a>`,
      Account: (each) => accountLink(each),
      'Asked by': (each) => html`<code>${each.asked_by}</code>`,
      'Approved by': (each) => html`<code>${each.approved_by}</code>`,
      Why: (each) => noticeTexts[each.notice],
    })}`;
}

/** The forms of all divergences have the same address. */
function acknowledgeForm(id: string, visit: StaffVisit): Html {
  const refused = visit.form.get('divergence') === id ? visit.refused : undefined;
  return foldedForm({ ...visit, refused }, '/staff/operation/acknowledge', {
    name: 'Acknowledge',
    content: (typed) =>
      html`<input type="hidden" name="divergence" value="${id}" /> ${referenceField(typed)}
        ${reasonField(typed, { label: 'Why it may stay' })} <button class="second">Acknowledge</button>`,
  });
}

const acknowledgeMs = 5_000;

export async function acknowledge(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const reference = readReference(visit.form);
  const { by } = orderOf(visit);
  const { audit } = await seeAs(visit, books, dependencies, {});
  const found = audit.divergences.find(({ id }) => id === visit.form.get('divergence'));
  if (!found) throw visit.form.has('divergence') ? notThere() : missing();
  const actor = await actingStaff(dependencies, by, 'admin');
  if (isRefused(actor)) throw pageRefusalFor(actor.refusal);
  await acknowledgeDivergence(dependencies, {
    divergence: { ...found.facts, reference },
    cause: { ...ownCause(dependencies.newUuid(), actor), correlationId: visit.request.id },
    timeoutMs: acknowledgeMs,
  });
  return redirect(doneAt('/staff/operation', 'acknowledged'));
}

const notThere = () =>
  badInput('The verification does not report this divergence any more: nothing is left to acknowledge.');

function periods({ periods_not_closed: rows, are_more_not_closed: areMore }: Books): Html {
  return html`<h2>Periods that should be closed</h2>
    ${areMore && html`<p>These are the first ${count(rows.length)} of more, the longest overdue first.</p>`}
    ${listTable(
      {
        name: 'Periods that should be closed',
        none: html`<p>No period is over and past its time for corrections with its books still open.</p>`,
      },
      rows,
      {
        Ended: ({ account_id: id, stream, ended_at: end }) =>
          html`<a data-row href="/staff/overage/${id}/${dayOfStream(stream)}">${day(end)}</a>`,
        Account: (row) => accountLink(row),
        'Usage stream': ({ stream }) => html`<code>${stream}</code>`,
        State: ({ phase }) => (phase === 'open' ? 'not ended in the log' : 'ended, and not closed'),
      },
    )}`;
}

/** `usage-acc_…-20261101` begins on 2026-11-01. */
const dayOfStream = (stream: string): string => stream.slice(-8).replace(/(\d{4})(\d\d)(\d\d)/, '$1-$2-$3');

const readModels = ({ read_models: models }: Books): Html =>
  html`<h2>Read models</h2>
    ${listTable('Read models', models, {
      'Read model': rowName(({ name }) => name),
      Position: numberCell(({ position }) => position),
      Behind: numberCell(({ lag }) => lag ?? ''),
      State: ({ lag }) => tag(lagText(lag), lag === '0' ? 'good' : 'warn'),
    })}`;

const lagText = (lag: string | null): string => (lag === null ? 'not known' : lag === '0' ? 'up to date' : 'behind');
