import { usageAndJobs } from '../../../../projections/usage-and-jobs.ts';
import { readAccount } from '../../../commands/accounts.ts';
import { limitKey } from '../../../commands/limit-key.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { ApiKey } from '../../../domain/account.ts';
import {
  endOfDay,
  type KeyLimit,
  type KeyUse,
  lastDayOf,
  maxKeyLimits,
  noLimit,
  noUse,
} from '../../../domain/key-limits.ts';
import { largestAllowance } from '../../../domain/plans.ts';
import { keyUseAt, termsAt } from '../../../domain/usage-periods.ts';
import { dollarsField, dollarsText, doneAt, formTokenField, postForm, readDollars } from '../../form-fields.ts';
import { untilInForce } from '../../in-force.ts';
import { count, money } from '../../parts.ts';
import { type Answer, badInput, missing, type OwnerVisit, page, redirect } from '../../visit.ts';
import { currentUsage, snapshotOf } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { causeOf } from '../owner-request.ts';
import { requireChange } from '../refusal-texts.ts';

/** What one API key may use: a key that leaks costs no more than this. */

const budgetMs = 5_000;

async function findKey({ session, params }: OwnerVisit, { store }: ConsoleDependencies): Promise<ApiKey> {
  const key = (await readAccount(store, session.accountId)).keys.get(params['key'] ?? '');
  if (!key) throw missing();
  return key;
}

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const key = await findKey(visit, dependencies);
  const usage = await currentUsage(visit, dependencies);
  const limit = termsAt(usage, dependencies.now()).key_limits?.[key.keyId];
  if (key.revoked && !limit) throw missing();
  const { keyId, label } = key;
  return page({
    title: `Limit ${label === '' ? 'a key' : label}`,
    section: 'keys',
    content: key.revoked
      ? removal(visit, key)
      : form(visit, key, { limit: limit ?? noLimit, used: keyUseAt(usage, dependencies.now())[keyId] ?? noUse }),
  });
}

const removal = ({ session }: OwnerVisit, { keyId, keyPrefix }: ApiKey): Html =>
  html`<p class="lead">
      The key <code>${keyPrefix}…</code> is revoked and never works again. Its limit still counts among the
      ${count(maxKeyLimits)} that an account may have.
    </p>
    <form method="post" action="/console/keys/${keyId}/limit" class="pages">
      ${formTokenField(session)} <input type="hidden" name="downloads" value="" />
      <input type="hidden" name="dollars" value="" /> <input type="hidden" name="until" value="" />
      <button>Remove the limit</button> <a href="/console/keys">Leave it as it is</a>
    </form>`;

const actionOf = ({ keyId }: Pick<ApiKey, 'keyId'>) => `/console/keys/${keyId}/limit`;

function form(
  visit: OwnerVisit,
  { keyId, keyPrefix }: ApiKey,
  { limit, used }: { limit: KeyLimit; used: KeyUse },
): Html {
  const { downloads, overage_cents: cents, until } = limit;
  const shown = {
    downloads: downloads === null ? '' : String(downloads),
    dollars: dollarsText(cents),
    until: until === null ? '' : lastDayOf(until),
  };
  return html`<p class="lead">
      Beyond its limit, the key <code>${keyPrefix}…</code> is refused, with <code>402</code>; after its last day with
      <code>401</code>. The cap and the allowance of the account hold besides.
    </p>
    <p>
      ${count(used.downloads)} ${used.downloads === 1 ? 'download' : 'downloads'} and ${money(used.overage_cents)} of
      overage are counted in this billing period. A limit counts from the moment on in which it is first set, and in the
      periods that follow from their beginning.
    </p>
    ${postForm(
      visit,
      actionOf({ keyId }),
      (typed) =>
        html`${Object.entries(shown).map(([name, value]) => html`<input type="hidden" name="shown_${name}" value="${typed(`shown_${name}`) ?? value}" />`)}
          <label
            >Downloads in a billing period; empty for no limit
            <input
              name="downloads"
              inputmode="numeric"
              autocomplete="off"
              pattern="[0-9]{1,10}"
              title="a whole number such as 100"
              value="${typed('downloads') ?? shown.downloads}"
          /></label>
          ${dollarsField('Overage in US dollars in a billing period; empty for no limit', typed('dollars') ?? shown.dollars)}
          <label
            >Last day, UTC; empty for none
            <input type="date" name="until" max="9999-12-30" value="${typed('until') ?? shown.until}"
          /></label>
          <button>Set the limit</button> <a href="/console/keys">Leave it as it is</a>
          <p class="hint">A mail warns of it as of the allowance. A key that has a limit cannot issue other keys.</p>`,
    )}`;
}

export async function change(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const changes = readChanges(visit.form);
  const { keyId } = await findKey(visit, dependencies);
  const answer = await limitKey(dependencies, {
    accountId: visit.session.accountId,
    keyId,
    changes,
    snapshot: await snapshotOf(visit, dependencies),
    cause: causeOf(visit, dependencies.newUuid()),
    timeoutMs: budgetMs,
  });
  requireChange(answer);
  await untilInForce(dependencies, usageAndJobs, 'The limit is stored. Look at the keys in a minute.');
  return redirect(doneAt('/console/keys', 'limited'));
}

/**
 * The parts that differ from those that the form has shown: somebody else may have changed the others meanwhile.
 *
 * @throws {PageRefusal}
 */
function readChanges(form: URLSearchParams): Partial<KeyLimit> {
  const changed = (name: string) => {
    const value = form.get(name);
    return value === null || value === form.get(`shown_${name}`) ? undefined : value.trim();
  };
  const [downloads, dollars, until] = [changed('downloads'), changed('dollars'), changed('until')];
  return {
    ...(downloads !== undefined && { downloads: readDownloads(downloads) }),
    ...(dollars !== undefined && { overage_cents: readCents(dollars) }),
    ...(until !== undefined && { until: readLastDay(until) }),
  };
}

function readDownloads(text: string): number | null {
  if (!/^\d{0,10}$/.test(text) || Number(text) > largestAllowance)
    throw badInput('The number of downloads is a whole number, such as 100; or empty for no limit.');
  return text === '' ? null : Number(text);
}

function readCents(text: string): number | null {
  const cents = readDollars(text);
  if (cents === undefined)
    throw badInput('The overage is an amount in US dollars, such as 25 or 12.50; or empty for no limit.');
  return cents;
}

function readLastDay(text: string): string | null {
  if (text === '') return null;
  if (!isDay(text)) throw badInput('The last day is a day such as 2027-01-31; or empty for none.');
  const until = endOfDay(text);
  if (until === undefined) throw badInput('The last day is 9999-12-30 at the latest; or empty for none.');
  return until;
}

function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00.000Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text;
}
