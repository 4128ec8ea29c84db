import { readAccount, requestClosing as requestClosingOf } from '../../../commands/accounts.ts';
import { changeTerms as changeTermsOf, type TermsChange } from '../../../commands/change-terms.ts';
import { type Html, html, numberCell } from '../../../documents/html.ts';
import type { Account } from '../../../domain/account.ts';
import { changePlan as decidePlanChange, resultOfPlanChange } from '../../../domain/change-plan.ts';
import { feeOf, maxKeysOf, planName, type PlanTerms, type Terms } from '../../../domain/plans.ts';
import { isRefused, refuse } from '../../../domain/refusals.ts';
import { comingTerms, isLastEnded, isOverAt, termsAt } from '../../../domain/usage-periods.ts';
import type { UsagePeriod } from '../../../domain/usage-state.ts';
import {
  dollarsField,
  dollarsText,
  doneAt,
  doneNote,
  foldedForm,
  formTokenField,
  postForm,
  readDollars,
} from '../../form-fields.ts';
import {
  actionCell,
  amountCell,
  count,
  countCell,
  day,
  facts,
  listTable,
  money,
  note,
  rowName,
  tag,
  time,
} from '../../parts.ts';
import { type Answer, badInput, missing, type OwnerVisit, page, redirect } from '../../visit.ts';
import { currentUsage, snapshotOf } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { causeOf, requestOf } from '../owner-request.ts';
import { accountTexts, refusalOfTerms, requireChange } from '../refusal-texts.ts';
import { suspendedNote } from '../suspended-note.ts';
import { billingForm } from './billing-details.ts';
import { peopleAndSessions } from './people.ts';

/** Everything that an owner decides: the overage cap, the plan, billing details, people, sessions. */

const budgetMs = 5_000;

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const usage = await currentUsage(visit, dependencies);
  const account = await readAccount(dependencies.store, visit.session.accountId);
  const sessions = await dependencies.sessions.list(visit.session);
  return page({
    title: 'Settings',
    section: 'settings',
    content: html`<p class="pages"><a href="/console/history">History: what has changed, and who changed it</a></p>
      ${usage.terms.suspended && suspendedNote()} ${cap(visit, usage, dependencies.now())}
      ${plans(visit, usage, dependencies)} ${billingForm(visit, account.billing)}
      ${warnings(termsAt(usage, dependencies.now()))} ${peopleAndSessions(visit, account.people, sessions)}
      ${closing(visit, account)}`,
  });
}

const capAction = '/console/settings/cap';

function cap(visit: OwnerVisit, usage: UsagePeriod, now: string): Html {
  const terms = termsAt(usage, now);
  const { overage_cents: rateCents, overage_cap_cents: capCents } = terms;
  const title = html`<h2 id="cap">Cap on overage</h2>`;
  if (rateCents === null)
    return html`${title}
      <p>Your plan has no overage: downloads stop at its allowance, so there is nothing to cap.</p>`;
  const coming = comingTerms(usage).overage_cap_cents;
  const spentCents = isOverAt(usage, now) ? 0 : usage.overageCents;
  const saved =
    coming === capCents
      ? 'The cap is saved, and counts now.'
      : html`The change of the cap is saved, and counts from ${day(usage.period.end)} on.`;
  return html`${title} ${doneNote(visit, { cap: saved })}
    <p>
      ${
        capCents === null
          ? 'No cap is set: downloads beyond the allowance go on, and each is charged.'
          : `Charges beyond the allowance stop at ${money(capCents)} in a billing period: that is ${count(Math.floor(capCents / rateCents))} downloads at ${money(rateCents)}.`
      }
      ${money(spentCents)} ${spentCents === 0 ? 'is' : 'are'} charged so far.
      ${coming !== capCents && html`<strong>From ${day(usage.period.end)} on: ${coming === null ? 'no cap' : money(coming)}.</strong>`}
    </p>
    ${postForm(visit, capAction, (typed) => {
      const isLater = typed('effective') === 'next_period';
      return html`${dollarsField('Cap in US dollars; empty for none', typed('dollars') ?? dollarsText(capCents))}
        <fieldset>
          <legend class="visually-hidden">When</legend>
          <label class="inline"
            ><input type="radio" name="effective" value="now" ${!isLater && html`checked`} /> now</label
          >
          <label class="inline"
            ><input type="radio" name="effective" value="next_period" ${isLater && html`checked`} /> from the next
            billing period on</label
          >
        </fieldset>
        <button>Set the cap</button>
        <p class="hint">A cap below what is charged already stops further overage; nothing is given back by it.</p>`;
    })}`;
}

export async function changeCap(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const capCents = readDollars(visit.form.get('dollars') ?? '');
  if (capCents === undefined)
    throw badInput('The cap is an amount in US dollars, such as 25 or 12.50; or empty for none.');
  const effective = visit.form.get('effective');
  if (effective !== 'now' && effective !== 'next_period') throw badInput('Choose when the change takes effect.');
  const change: TermsChange =
    capCents === null
      ? { kind: 'remove_overage_cap', effective }
      : { kind: 'set_overage_cap', overageCapCents: capCents, effective };
  await changeTerms(visit, dependencies, change);
  return redirect(doneAt('/console/settings', 'cap'));
}

async function changeTerms(visit: OwnerVisit, dependencies: ConsoleDependencies, change: TermsChange): Promise<void> {
  const answer = await changeTermsOf(dependencies.writers, {
    accountId: visit.session.accountId,
    change,
    snapshot: await snapshotOf(visit, dependencies),
    cause: causeOf(visit, dependencies.newUuid()),
    timeoutMs: budgetMs,
  });
  requireChange(answer);
}

function plans(
  visit: OwnerVisit,
  usage: UsagePeriod,
  { plans: catalogue, planNames, selfServicePlans, now }: ConsoleDependencies,
): Html {
  const terms = termsAt(usage, now());
  const coming = comingPlan(usage, now());
  const name = planName(terms.plan, planNames);
  const comingName = coming && planName(coming.plan, planNames);
  const saved = coming
    ? html`The change is saved: you are on ${name} until ${day(usage.period.end)}, and on ${comingName} from then on.`
    : `You are on ${name} now.`;
  return html`<h2 id="plan">Plan</h2>
    ${doneNote(visit, { plan: saved, kept: `You keep ${name}. No change is due.` })}
    <p>
      You are on <strong>${name}</strong>: ${describe(terms)}.
      ${coming && html`<strong>From ${day(usage.period.end)} on: ${comingName}.</strong>`}
    </p>
    ${
      coming &&
      usage.due?.plan_of_owner &&
      postForm(
        visit,
        keepAction,
        () =>
          html`<input type="hidden" name="plan" value="${terms.plan}" /> <button class="second">Keep ${name}</button>`,
      )
    }
    ${listTable('Plans', [...catalogue.values()], {
      Plan: rowName(({ plan }) => planName(plan, planNames)),
      'A month': amountCell((plan) => plan.fee_cents),
      Downloads: countCell((plan) => plan.downloads_limit),
      Metadata: countCell((plan) => plan.metadata_limit),
      'Beyond, each': numberCell(({ overage_cents: cents }) => (cents === null ? 'none' : money(cents))),
      'Requests an hour': countCell((plan) => plan.hourly_limit),
      'API keys': countCell(maxKeysOf),
      Change: actionCell(({ plan }) => {
        if (plan === terms.plan) return tag('yours', 'good');
        if (plan === coming?.plan) return html`from ${day(usage.period.end)} on`;
        if (!selfServicePlans.has(plan)) return 'by agreement';
        if (terms.suspended) return 'not while suspended';
        return html`<a data-row href="/console/settings/plan/${plan}">Change to it…</a>`;
      }),
    })}`;
}

const describe = (terms: Terms | PlanTerms): string =>
  `${money(terms.fee_cents)} a month, ${count(terms.downloads_limit)} downloads` +
  (terms.overage_cents === null ? ' and none beyond' : `, ${money(terms.overage_cents)} for each beyond`);

/** The plan that the path names. */
function planOf(visit: OwnerVisit, { plans: catalogue, planNames, selfServicePlans }: ConsoleDependencies): PlanTerms {
  const terms = catalogue.get(visit.params['plan'] ?? '');
  if (!terms) throw missing();
  if (!selfServicePlans.has(terms.plan))
    throw badInput(
      `The plan ${planName(terms.plan, planNames)} is agreed for each account. Ask whoever sends you the invoices for it. Nothing was changed.`,
    );
  return terms;
}

export async function confirmPlan(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const terms = planOf(visit, dependencies);
  const usage = inForceAt(await currentUsage(visit, dependencies), dependencies.now());
  const { effective } = resultOfPlanChange(usage, changeTo(terms));
  const [nameNow, nameThen] = [usage.terms, terms].map(({ plan }) => planName(plan, dependencies.planNames));
  const differenceCents = differenceOf(usage, terms);
  return page({
    title: `Change to ${nameThen ?? ''}`,
    section: 'settings',
    content: html`${visit.query.has('again') && note('warn', 'The price has changed meanwhile. Nothing was changed yet.')}
      ${facts([
        ['Now', `${nameNow ?? ''}: ${describe(usage.terms)}`],
        [
          'Then',
          `${nameThen ?? ''}: ${describe(terms)}, ${count(terms.hourly_limit)} requests an hour for each of ${count(maxKeysOf(terms))} keys`,
        ],
        [
          'From',
          effective === 'now' ? 'now on' : html`${day(usage.period.end)} on, because the fee of this period is paid`,
        ],
        [
          'Price of the change',
          html`<strong>${money(differenceCents)}</strong>
            ${differenceCents > 0 ? 'on the next invoice: the difference to the fee of this billing period' : 'now'};
            then ${money(terms.fee_cents)} a month`,
        ],
      ])}
      <form method="post" action="/console/settings/plan/${terms.plan}" class="pages">
        ${formTokenField(visit.session)}
        <input type="hidden" name="difference_cents" value="${differenceCents}" />
        <button>Change the plan</button> <a href="/console/settings#plan">Keep the old one</a>
      </form>`,
  });
}

export async function changePlan(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const terms = planOf(visit, dependencies);
  const usage = inForceAt(await currentUsage(visit, dependencies), dependencies.now());
  // Another person may have changed the plan since the price was shown.
  if (visit.form.get('difference_cents') !== String(differenceOf(usage, terms)))
    return redirect(`/console/settings/plan/${terms.plan}?again`);
  await changeTerms(visit, dependencies, changeTo(terms));
  return redirect(doneAt('/console/settings', 'plan'));
}

/** What waits for the next period. */
const comingPlan = (usage: UsagePeriod, now: string): PlanTerms | undefined =>
  isOverAt(usage, now) ? undefined : usage.due?.plan;

const keepAction = '/console/settings/keep-plan';

/** Takes back the change of the plan that is due with the next period. */
export async function keepPlan(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  await changeTerms(visit, dependencies, { kind: 'keep_plan', plan: visit.form.get('plan') ?? '' });
  return redirect(doneAt('/console/settings', 'kept'));
}

const changeTo = (terms: PlanTerms) => ({ kind: 'change_plan', terms, effective: undefined }) as const;

/** After the end of a period that nobody has ended yet, a change is one of the next period. */
function inForceAt(usage: UsagePeriod, now: string): UsagePeriod {
  if (!isOverAt(usage, now)) return usage;
  const terms = comingTerms(usage);
  return { ...usage, terms, feeCents: feeOf(terms), due: null, planChanges: 0 };
}

/**
 * The cents that a change to a plan adds to the next invoice.
 *
 * @throws {PageRefusal} where the change would be refused
 */
function differenceOf(usage: UsagePeriod, terms: PlanTerms): number {
  const decided = isLastEnded(usage) ? refuse('account_closed') : decidePlanChange(usage, changeTo(terms), true);
  if (isRefused(decided)) throw refusalOfTerms(decided.refusal);
  const [event] = decided;
  return event?.type === 'PlanChanged' ? event.data.fee_difference_cents : 0;
}

/** Staff close accounts: what is still due, and whether whoever asks may, is looked at by a person. */
function closing(visit: OwnerVisit, { closingRequestedAt: askedAt }: Account): Html {
  const asked = { closing: 'Staff of this service know that you want the account closed.' };
  const title = html`<h2 id="closing">Closing the account</h2>
    ${doneNote(visit, asked)}`;
  if (askedAt !== null)
    return html`${title}
      <p>
        Its closing was asked for ${time(askedAt)}. Staff of this service carry it out; until then everything goes on.
      </p>`;
  return html`${title}
    <p>
      With the closing, the current billing period ends and is invoiced, all keys are revoked, and everybody is signed
      out: fetch your downloads and save your invoices before. The fee of a period that has begun is not given back.
      Staff of this service carry it out.
    </p>
    ${foldedForm(visit, '/console/settings/closing', {
      name: 'Ask for the closing of this account',
      content: () => html`<button class="danger">Ask for the closing</button>`,
    })}`;
}

export async function requestClosing(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const asked = await requestClosingOf(dependencies.accounts, requestOf(visit));
  if (isRefused(asked)) throw badInput(accountTexts[asked.refusal]);
  return redirect(doneAt('/console/settings', 'closing'));
}

function warnings({ warning_percents: percents }: Terms): Html {
  const listed = percents.map((percent) => `${count(percent)} %`).join(' and ');
  return html`<h2 id="warnings">Warning mails</h2>
    <p>
      ${percents.length === 0 ? 'No mails are sent as the allowance runs out.' : `A mail is sent when ${listed} of downloads or metadata requests are used, and when the cap on overage is reached.`}
      They go to all people of the account.
    </p>`;
}
