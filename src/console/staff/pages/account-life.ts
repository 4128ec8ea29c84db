import { apiKeys } from '../../../../projections/api-keys.ts';
import { usageAndJobs } from '../../../../projections/usage-and-jobs.ts';
import { changeTerms } from '../../../commands/change-terms.ts';
import { closeAccount } from '../../../commands/close-account.ts';
import { ownCause } from '../../../commands/handler/event-metadata.ts';
import { actingStaff } from '../../../commands/staff.ts';
import type { UsageAnswer } from '../../../commands/usage/decide-batch.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { StaffActor } from '../../../domain/correction-requests.ts';
import { isRefused, type Refused } from '../../../domain/refusals.ts';
import { doneAt, doneNote, foldedForm } from '../../form-fields.ts';
import { untilInForce } from '../../in-force.ts';
import { note, time } from '../../parts.ts';
import { usageSnapshot } from '../../usage-snapshot.ts';
import { type Answer, away, badInput, outcomeUnknown, redirect, type StaffVisit } from '../../visit.ts';
import { accountPath } from '../addresses.ts';
import { pageRefusalFor } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { orderOf, reasonField } from '../staff-request.ts';
import type { AccountShown } from '../views/account.ts';

/** An account is suspended, and that is lifted; or it is closed for good. By finance. */

/** The texts of the notes after these forms. */
const done = {
  suspended: 'The account is suspended: its keys are refused, and nothing is charged.',
  lifted: 'The account is no longer suspended.',
  closed: 'The account is closed. Its last period is invoiced once the grace is over.',
};

/** What the account is, and the forms that change it. */
export function accountLife(account: AccountShown, visit: StaffVisit): Html {
  const { account_id: accountId, suspended, closed, closing_requested_at: askedAt } = account;
  const told = doneNote(visit, done);
  if (closed)
    return html`${told}
    ${note('warn', 'This account is closed. Its keys are revoked, and nothing is charged any more.')}`;
  const path = accountPath(accountId);
  const asked =
    askedAt !== null && note('warn', html`Somebody of the account has asked for its closing, ${time(askedAt)}.`);
  const state = suspended && note('warn', 'This account is suspended: its keys are refused, and nothing is charged.');
  if (visit.session.role === 'support')
    return html`${told} ${asked} ${state}
      <p class="soft">Finance suspends and closes accounts.</p>`;
  const suspension = suspended
    ? foldedForm(visit, `${path}/lift-suspension`, {
        name: 'Lift the suspension',
        content: (typed) =>
          html`<p>Its keys are admitted again. If this period began suspended, its fee is due then.</p>
            ${reasonField(typed)} <button>Lift the suspension</button>`,
      })
    : foldedForm(visit, `${path}/suspend`, {
        name: 'Suspend the account',
        content: (typed) =>
          html`<p>
              Its keys are refused and nothing is charged until that is lifted; a period that begins meanwhile has no
              fee. What was due before is invoiced. Downloads that are queued go on.
            </p>
            ${reasonField(typed, { hint: 'For staff and the audit; the account is only told that it is suspended.' })}
            <button class="danger">Suspend the account</button>`,
      });
  return html`${told} ${asked} ${state} ${suspension}
  ${foldedForm(visit, `${path}/close`, {
    name: 'Close the account',
    content: (typed) =>
      html`<p>
          Its last period ends now and is invoiced once the grace is over; its keys are revoked, and its people are
          signed out. Nobody of the account can fetch a download any more:
          <a href="${path}/downloads">those that still run</a> stay charged unless you give them back. Nothing undoes
          the closing.
        </p>
        ${reasonField(typed)} <button class="danger">Close the account for good</button>`,
  })}`;
}

const change =
  (kind: 'suspend_account' | 'lift_suspension', name: keyof typeof done) =>
  async (visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> => {
    const { accountId, actor, order } = await readOrder(visit, dependencies);
    const cause = ownCause(dependencies.newUuid(), actor, visit.request.id);
    const snapshot = await usageSnapshot(dependencies, { accountId, cause });
    const { timeoutMs } = order;
    const answer = await changeTerms(dependencies.writers, { accountId, change: { kind }, snapshot, cause, timeoutMs });
    requireChange(answer);
    await untilInForce(dependencies, usageAndJobs, 'The change is stored. Look at the account in a minute.');
    return redirect(doneAt(accountPath(accountId), name));
  };

export const suspend = change('suspend_account', 'suspended');
export const lift = change('lift_suspension', 'lifted');

export async function close(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { accountId, actor, order } = await readOrder(visit, dependencies);
  const cause = ownCause(dependencies.newUuid(), actor, visit.request.id);
  const snapshot = await usageSnapshot(dependencies, { accountId, cause });
  const request = { accountId, actor, snapshot, correlationId: visit.request.id, timeoutMs: order.timeoutMs };
  requireChange(await closeAccount(dependencies, request));
  await untilInForce(dependencies, apiKeys, 'The account is closed. Its keys are refused in a moment.');
  return redirect(doneAt(accountPath(accountId), 'closed'));
}

async function readOrder(visit: StaffVisit, dependencies: StaffDependencies) {
  const order = orderOf(visit);
  const actor: StaffActor | Refused = await actingStaff(dependencies, order.by, 'finance');
  if (isRefused(actor)) throw pageRefusalFor(actor.refusal);
  return { accountId: visit.params['account'] ?? '', actor, order };
}

function requireChange(answer: UsageAnswer | Refused): void {
  if (isRefused(answer)) throw badInput('This account is closed for good, and nothing of it can be changed.');
  if (answer.outcome === 'unknown') throw outcomeUnknown();
  if (answer.outcome !== 'accepted') throw away();
}
