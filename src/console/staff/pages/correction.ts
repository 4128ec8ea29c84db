import { approveCorrection, refuseCorrection } from '../../../commands/correct.ts';
import { type Html, html } from '../../../documents/html.ts';
import { isRefused, type Refusal, refusals } from '../../../domain/refusals.ts';
import { hasRole } from '../../../domain/staff.ts';
import { postForm } from '../../form-fields.ts';
import { amountCell, facts, money, note, noteAnchor, time, timeToTheSecond } from '../../parts.ts';
import { summedTable } from '../../summed-table.ts';
import type { Answer, StaffVisit } from '../../visit.ts';
import { accountLink, correctionPath, creditNotePath, eventPath } from '../addresses.ts';
import { carryOut, pageRefusalFor, refusalText, toCorrection } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { orderOf, reasonField } from '../staff-request.ts';
import { seeAs, viewPage } from '../view.ts';
import { correction as correctionView, type CorrectionStory, type ShownActor } from '../views/corrections.ts';
import { chargeTag, downloadCell } from './charges.ts';
import { correctionTag, whatOf, who } from './corrections.ts';

/** One correction: who asked, who decided, and the events by which the money went back. */

export const show = viewPage(correctionView, { title: 'Correction', section: 'corrections', content });

type Decision = typeof approveCorrection | typeof refuseCorrection;

/** The row says whose stream it is; the stream decides. */
async function decide(visit: StaffVisit, dependencies: StaffDependencies, decision: Decision) {
  const { account_id: accountId, correction_id: correctionId } = await seeAs(visit, correctionView, dependencies);
  const about = { accountId, correctionId };
  const decided = await decision(dependencies, { ...orderOf(visit), ...about });
  if (isRefused(decided)) throw pageRefusalFor(decided.refusal);
  return about;
}

export async function approve(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const about = await decide(visit, dependencies, approveCorrection);
  await carryOut(dependencies, about);
  return await toCorrection(dependencies, about.correctionId);
}

export async function refuse(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { correctionId } = await decide(visit, dependencies, refuseCorrection);
  return await toCorrection(dependencies, correctionId);
}

function content(story: CorrectionStory, visit: StaffVisit): Html {
  const { cents, reference, correction_id: id } = story;
  return html`${outcome(story, visit)}
    ${facts([
      ['State', correctionTag(story.status)],
      ['Account', accountLink(story)],
      ['What', whatOf(story)],
      ['Amount', html`<strong>${money(story.made_cents ?? cents)}</strong>${partOf(story)}`],
      ['Reference', html`<a href="/staff/corrections?reference=${encodeURIComponent(reference)}">${reference}</a>`],
      ['Correction', html`<code>${id}</code>`],
    ])}
    ${charges(story)}
    <h2>History</h2>
    ${timeline(story, visit)} ${decision(story, visit)} ${made(story)}`;
}

const charges = ({ charge_rows: rows }: CorrectionStory): Html | false =>
  rows.length > 0 &&
  html`<h2>Charges</h2>
    ${summedTable({ name: 'Charges' }, rows, {
      Time: (row) => timeToTheSecond(row.time),
      Download: downloadCell,
      Charge: chargeTag,
      Charged: amountCell((row) => row.cents),
      Asked: amountCell((row) => row.asked_cents),
    })}`;

const partOf = ({ made_cents: made, cents }: CorrectionStory): string =>
  made !== null && made < cents ? ` of ${money(cents)} that were asked: the rest was given back otherwise` : '';

function outcome(story: CorrectionStory, { session }: StaffVisit): Html {
  const { status, made_cents: made, why, asked_by: by } = story;
  switch (status) {
    case 'made':
      return note('good', `${money(made ?? 0)} is given back.`);
    case 'asked':
      return note(
        'warn',
        by.id === session.staffId
          ? 'Nothing is given back yet: it waits for another person, of finance, to approve it.'
          : 'Nothing is given back yet: it waits for approval.',
      );
    case 'permitted':
      return note('info', 'It is permitted, and the service is about to give it back. Reload in a minute.');
    case 'refused':
      return note('bad', 'It was refused. Nothing is given back.');
    case 'failed':
      return note('bad', `Nothing was given back. ${whyText(why)}`);
  }
}

const whyText = (why: string | null): string =>
  refusalText(refusals.find((each): each is Refusal => each === why) ?? 'nothing_to_give_back');

function timeline(story: CorrectionStory, { session }: StaffVisit): Html {
  const { needs_approval: needsApproval, limit_cents: limit, decided_by: by, decided_at: at, ended_at: ended } = story;
  const step = (what: string, when: string, by: ShownActor | null, eventId: string | null) =>
    html`<li>
      <p><strong>${what}</strong>${by !== null && html` by ${who(by, session.staffId)}`}</p>
      ${by !== null && by.reason !== '' && html`<p>${by.reason}</p>`}
      <p class="when">
        ${time(when)}${eventId !== null && html`, event <a href="/staff/events/${eventId}"><code>${eventId}</code></a>`}
      </p>
    </li>`;
  const asked = needsApproval ? 'Asked' : `Asked, within the limit of ${money(limit)}: it needs nobody else`;
  const isRefused = story.status === 'refused';
  const isTakenBack = isRefused && by?.id === story.asked_by.id;
  return html`<ol class="timeline">
    ${step(asked, story.asked_at, story.asked_by, story.asked_event_id)}
    ${
      by !== null &&
      at !== null &&
      step(isTakenBack ? 'Taken back' : isRefused ? 'Refused' : 'Approved', at, by, story.decided_event_id)
    }
    ${!isRefused && ended !== null && step(story.status === 'made' ? 'Given back' : 'Not possible', ended, null, null)}
  </ol>`;
}

const made = ({ made: events, account_id: accountId }: CorrectionStory): Html | false =>
  events.length > 0 &&
  html`<h2>Events that give it back</h2>
    ${summedTable({ name: 'Events that give it back' }, events, {
      Time: (event) => time(event.time),
      Event: ({ type, event_id: id }) => html`<a data-row href="${eventPath(id)}">${type} <code>${id}</code></a>`,
      What: ({ token, number: note }) =>
        html`${token !== null && html`<a href="/staff/downloads/${token}">its download</a>`}
        ${note !== null && html`<a href="${creditNotePath(accountId, note)}">credit note ${note}</a>`}`,
      Amount: amountCell((event) => event.cents),
    })}`;

function decision(
  { status, asked_by: by, correction_id: id, cents }: CorrectionStory,
  visit: StaffVisit,
): Html | false {
  const { session } = visit;
  const isOwn = by.id === session.staffId;
  if (status !== 'asked') return false;
  if (!isOwn && !hasRole(session.role, 'finance')) return html`<p class="soft">Somebody of finance decides it.</p>`;
  const refusal = `${correctionPath(id)}/refuse`;
  // The button that is pressed says where the form goes: one reason for both.
  return postForm(
    visit,
    visit.refused?.action ?? (isOwn ? refusal : `${correctionPath(id)}/approve`),
    (typed) =>
      html`${reasonField(typed)}
        <div class="pages">
          ${!isOwn && html`<button formaction="${correctionPath(id)}/approve#${noteAnchor}">Approve and give back ${money(cents)}</button>`}
          <button class="${isOwn ? 'second' : 'danger'}" formaction="${refusal}#${noteAnchor}">
            ${isOwn ? 'Take it back' : 'Refuse'}
          </button>
        </div>`,
  );
}
