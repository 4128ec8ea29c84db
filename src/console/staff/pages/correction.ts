import { approveCorrection, refuseCorrection } from '../../../commands/correct.ts';
import { type Html, html } from '../../../documents/html.ts';
import { isRefused, type Refusal, refusals } from '../../../domain/refusals.ts';
import { hasRole } from '../../../domain/staff.ts';
import { formTokenField } from '../../form-fields.ts';
import { facts, money, note, number, numberHead, time, wideTable } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, creditNotePath } from '../addresses.ts';
import { carryOut, pageRefusalFor, refusalText, toCorrection } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { maxReasonCharacters, orderOf } from '../staff-request.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import { correction as correctionView, type CorrectionStory, type ShownActor } from '../views/correction.ts';
import { correctionTag, whatOf, who } from './corrections.ts';

/** One correction: who asked, who decided, and the events by which the money went back. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const story = await see(correctionView, viewerOf(visit), dependencies, inputOf(visit));
  return page({ title: 'Correction', section: 'corrections', content: content(story, visit) });
}

export async function approve(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const about = await aboutOf(visit, dependencies);
  const approved = await approveCorrection(dependencies.staff, { ...orderOf(visit), ...about });
  if (isRefused(approved)) throw pageRefusalFor(approved.refusal);
  await carryOut(dependencies, about);
  return await toCorrection(dependencies, about.correctionId);
}

export async function refuse(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const about = await aboutOf(visit, dependencies);
  const refused = await refuseCorrection(dependencies.staff, { ...orderOf(visit), ...about });
  if (isRefused(refused)) throw pageRefusalFor(refused.refusal);
  return await toCorrection(dependencies, about.correctionId);
}

/** The row says whose stream it is; the stream decides. */
async function aboutOf(
  visit: StaffVisit,
  dependencies: StaffDependencies,
): Promise<{ accountId: string; correctionId: string }> {
  const { account_id: accountId, correction_id: correctionId } = await see(
    ...[correctionView, viewerOf(visit), dependencies, inputOf(visit)],
  );
  return { accountId, correctionId };
}

function content(story: CorrectionStory, visit: StaffVisit): Html {
  const { account_id: accountId, cents, reference, correction_id: id } = story;
  return html`${outcome(story, visit)}
    ${facts([
      ['State', correctionTag(story.status)],
      ['Account', accountLink(accountId)],
      ['What', whatOf(story)],
      ['Amount', html`<strong>${money(story.made_cents ?? cents)}</strong>${partOf(story)}`],
      ['Reference', html`<a href="/staff/corrections?reference=${encodeURIComponent(reference)}">${reference}</a>`],
      ['Correction', html`<code>${id}</code>`],
    ])}
    <h2>History</h2>
    ${timeline(story, visit)} ${decision(story, visit)} ${made(story)}`;
}

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

function made({ made: events, account_id: accountId }: CorrectionStory): Html | false {
  if (events.length === 0) return false;
  return html`<h2>Events that give it back</h2>
    ${wideTable(
      'Events that give it back',
      ['Time', 'Event', 'What', numberHead('Amount')],
      events.map(
        ({ type, event_id: id, time: at, cents, token, number: note }) =>
          html`<tr>
            <td>${time(at)}</td>
            <td>
              <a data-row href="/staff/events/${id}">${type} <code>${id}</code></a>
            </td>
            <td>
              ${token !== null && html`<a href="/staff/downloads/${token}">its download</a>`}
              ${note !== null && html`<a href="${creditNotePath(accountId, note)}">credit note ${note}</a>`}
            </td>
            ${number(money(cents))}
          </tr>`,
      ),
    )}`;
}

function decision(
  { status, asked_by: by, correction_id: id, cents }: CorrectionStory,
  visit: StaffVisit,
): Html | false {
  const { session } = visit;
  const isOwn = by.id === session.staffId;
  const isFinance = hasRole(session.role, 'finance');
  if (status !== 'asked') return false;
  if (!isOwn && !isFinance) return html`<p class="soft">Somebody of finance decides it.</p>`;
  const name = isOwn ? 'Take it back' : 'Refuse';
  // The button that is pressed says where the form goes: one reason for both.
  return html`<form method="post" action="/staff/corrections/${id}/${isOwn ? 'refuse' : 'approve'}" class="stack">
    ${formTokenField(session)}
    <label>Reason <textarea name="reason" required maxlength="${maxReasonCharacters}" rows="2"></textarea></label>
    <div class="pages">
      ${!isOwn && html`<button>Approve and give back ${money(cents)}</button>`}
      <button class="${isOwn ? 'second' : 'danger'}" formaction="/staff/corrections/${id}/refuse">${name}</button>
    </div>
  </form>`;
}
