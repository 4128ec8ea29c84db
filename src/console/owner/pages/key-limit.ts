import { usageAndJobs } from '../../../../projections/usage-and-jobs.ts';
import { readAccount } from '../../../commands/accounts.ts';
import { limitKey } from '../../../commands/limit-key.ts';
import { html } from '../../../documents/html.ts';
import type { ApiKey } from '../../../domain/account.ts';
import {
  endOfDay,
  type KeyLimit,
  lastDayOf,
  limitParts,
  maxKeyLimits,
  noLimit,
  noUse,
} from '../../../domain/key-limits.ts';
import { largestAllowance } from '../../../domain/plans.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { termsAt } from '../../../domain/usage-periods.ts';
import { formTokenField, readDollars } from '../../form-fields.ts';
import { untilInForce } from '../../in-force.ts';
import { count, money } from '../../parts.ts';
import { type Answer, away, badInput, missing, outcomeUnknown, type OwnerVisit, page, redirect } from '../../visit.ts';
import { currentUsage, snapshotOf } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { causeOf } from '../owner-request.ts';

/** What one API key may use: a key that leaks costs no more than this. */

const budgetMs = 5_000;

async function findKey({ session, params }: OwnerVisit, { store }: ConsoleDependencies): Promise<ApiKey> {
  const key = (await readAccount(store, session.accountId)).keys.get(params['key'] ?? '');
  if (!key || key.revoked) throw missing();
  return key;
}

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { keyId, keyPrefix, label } = await findKey(visit, dependencies);
  const usage = await currentUsage(visit, dependencies);
  const { downloads, overage_cents: cents, until } = termsAt(usage, dependencies.now()).key_limits?.[keyId] ?? noLimit;
  const used = usage.keyUse[keyId] ?? noUse;
  return page({
    title: `Limit ${label === '' ? 'a key' : label}`,
    section: 'keys',
    content: html`<p class="lead">
        Beyond its limit, the key <code>${keyPrefix}…</code> is refused, with <code>402</code>; after its last day with
        <code>401</code>. The cap and the allowance of the account hold besides.
      </p>
      <p>
        ${count(used.downloads)} ${used.downloads === 1 ? 'download' : 'downloads'} and ${money(used.overage_cents)} of
        overage are counted in this billing period. A limit counts from the moment on in which it is first set, and in
        the periods that follow from their beginning.
      </p>
      <form method="post" action="/console/keys/${keyId}/limit" class="stack">
        ${formTokenField(visit.session)}
        <label
          >Downloads in a billing period; empty for no limit
          <input
            name="downloads"
            inputmode="numeric"
            autocomplete="off"
            pattern="[0-9]{1,10}"
            value="${downloads === null ? '' : String(downloads)}"
        /></label>
        <label
          >Overage in US dollars in a billing period; empty for no limit
          <input
            name="dollars"
            inputmode="decimal"
            autocomplete="off"
            pattern="[0-9]+([.][0-9]{1,2})?"
            value="${cents === null ? '' : (cents / 100).toFixed(2)}"
        /></label>
        <label
          >Last day, UTC; empty for none
          <input type="date" name="until" value="${until === null ? '' : lastDayOf(until)}"
        /></label>
        <button>Set the limit</button> <a href="/console/keys">Leave it as it is</a>
        <p class="hint">A mail warns of it as of the allowance. A key that has a limit cannot issue other keys.</p>
      </form>`,
  });
}

export async function change(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const limit = readLimit(visit.form);
  const { keyId } = await findKey(visit, dependencies);
  const answer = await limitKey(dependencies, {
    accountId: visit.session.accountId,
    keyId,
    limit: limitParts(limit).length === 0 ? null : limit,
    snapshot: await snapshotOf(visit, dependencies),
    cause: causeOf(visit, dependencies.newUuid()),
    timeoutMs: budgetMs,
  });
  if (isRefused(answer)) {
    if (answer.refusal === 'too_many_key_limits')
      throw badInput(`${count(maxKeyLimits)} keys have a limit, the most that there may be. Nothing was changed.`);
    throw missing();
  }
  if (answer.outcome === 'unknown') throw outcomeUnknown();
  if (answer.outcome !== 'accepted') throw away();
  await untilInForce(dependencies, usageAndJobs, 'The limit is stored. Look at the keys in a minute.');
  return redirect('/console/keys?done=limited');
}

/** @throws {PageRefusal} */
function readLimit(form: URLSearchParams): KeyLimit {
  const downloads = (form.get('downloads') ?? '').trim();
  if (!/^\d{0,10}$/.test(downloads) || Number(downloads) > largestAllowance)
    throw badInput('The number of downloads is a whole number, such as 100; or empty for no limit.');
  const cents = readDollars(form.get('dollars') ?? '');
  if (cents === undefined)
    throw badInput('The overage is an amount in US dollars, such as 25 or 12.50; or empty for no limit.');
  const until = (form.get('until') ?? '').trim();
  if (until !== '' && !isDay(until)) throw badInput('The last day is a day such as 2027-01-31; or empty for none.');
  return {
    downloads: downloads === '' ? null : Number(downloads),
    overage_cents: cents,
    until: until === '' ? null : endOfDay(until),
  };
}

function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00.000Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text;
}
