import { type KeyWithUse, listKeysWithUse } from '../../../../projections/admission/key-use.ts';
import { waitForKey } from '../../../../projections/api-keys.ts';
import { issueReferencedKey, revokeApiKey } from '../../../commands/accounts.ts';
import { type Html, html, numberCell } from '../../../documents/html.ts';
import type { AccountRefusal } from '../../../domain/account.ts';
import { keyLabel } from '../../../domain/account-events.ts';
import { type KeyLimit, type KeyUse, limitParts, noUse } from '../../../domain/key-limits.ts';
import { maxKeysOf } from '../../../domain/plans.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { keyUseAt, termsAt } from '../../../domain/usage-periods.ts';
import type { UsagePeriod } from '../../../domain/usage-state.ts';
import { doneAt, doneNote, folded, formKeyField, formKeyOf, formTokenField, postForm } from '../../form-fields.ts';
import { notYetInForce } from '../../in-force.ts';
import { actionCell, count, empty, listTable, money, note, rowName, time } from '../../parts.ts';
import { type Answer, badInput, missing, type OwnerVisit, page, PageRefusal, redirect } from '../../visit.ts';
import { currentUsage } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { requestOf } from '../owner-request.ts';
import { accountTexts } from '../refusal-texts.ts';
import { suspendedNote } from '../suspended-note.ts';

/** The API keys of the account: issued, watched and revoked. */

const inForceMs = 5_000;

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  return page({ title: 'API keys', section: 'keys', content: await content(visit, dependencies) });
}

async function content(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Html> {
  const keys = await listKeysWithUse(dependencies.pool, {
    accountId: visit.session.accountId,
    macs: dependencies.macs,
  });
  const usage = await currentUsage(visit, dependencies);
  const terms = termsAt(usage, dependencies.now());
  const active = keys.filter(({ revoked_at: revokedAt }) => revokedAt === null);
  const revoked = keys.filter(({ revoked_at: revokedAt }) => revokedAt !== null);
  return html`${doneNote(visit, done)} ${terms.suspended && suspendedNote()}
    ${list(active, { terms, keyUse: keyUseAt(usage, dependencies.now()) })}
    <p><a href="/console/keys/usage">Usage by key and day</a></p>
    <h2 id="issue">Issue a key</h2>
    ${
      active.length >= maxKeysOf(terms)
        ? note('warn', `All ${count(maxKeysOf(terms))} keys of your plan are in force. Revoke one first.`)
        : postForm(
            visit,
            '/console/keys',
            (typed) =>
              html`${formKeyField(typed('form_key') ?? dependencies.newUuid())}
                <label
                  >Label, to tell it from the others
                  <input
                    name="label"
                    placeholder="for example: nightly import"
                    autocomplete="off"
                    value="${typed('label') ?? ''}"
                /></label>
                <button>Issue a key</button>`,
          )
    }
    ${
      revoked.length > 0 &&
      folded(
        `Revoked keys (${count(revoked.length)})`,
        listTable('Revoked keys', revoked, {
          Label: ({ label }) => label,
          Key: (key) => html`<code>${key.key_prefix}…</code>`,
          Issued: (key) => time(key.created_at),
          Revoked: ({ revoked_at: at }) => at !== null && time(at),
          Limit: ({ key_id: id }) => limitOfRevoked(id, terms.key_limits?.[id]),
        }),
      )
    }`;
}

const done = {
  revoked: 'The key is revoked. Every process refuses it from now on.',
  limited: 'The limit of the key is changed. It counts from now on.',
};

const list = (keys: readonly KeyWithUse[], { terms, keyUse }: Pick<UsagePeriod, 'terms' | 'keyUse'>): Html =>
  listTable(
    {
      name: 'Keys in force',
      none: empty(html`<p>No key is in force. <a href="#issue">Issue one</a> for a program.</p>`),
    },
    keys,
    {
      Label: rowName(({ label }) => (label === '' ? html`<span class="soft">no label</span>` : label)),
      Key: ({ key_id: id, key_prefix: prefix }) =>
        html`<a data-row href="/console/downloads?key=${id}"><code>${prefix}…</code></a>`,
      Issued: (key) => time(key.created_at),
      'Newest request': ({ last_used_at: at }) => (at === null ? html`<span class="soft">never</span>` : time(at)),
      'Requests in the past hour': numberCell(
        (key) => `${count(key.used_in_past_hour)} of ${count(terms.hourly_limit)}`,
      ),
      Limit: ({ key_id: id }) => limitOf(terms.key_limits?.[id], keyUse[id] ?? noUse),
      Change: actionCell(
        ({ key_id: id }) =>
          html`<a href="/console/keys/${id}/limit">Limit…</a> <a href="/console/keys/${id}/revoke">Revoke…</a>`,
      ),
    },
  );

const limitOf = (limit: KeyLimit | undefined, used: KeyUse): Html | string =>
  limit
    ? html`${limitParts(limit).join(', ')}<br />used: ${count(used.downloads)}, ${money(used.overage_cents)}`
    : html`<span class="soft">none</span>`;

/** It counts among the limits that an account may have. */
const limitOfRevoked = (keyId: string, limit: KeyLimit | undefined): Html | false =>
  limit !== undefined && html`${limitParts(limit).join(', ')} <a href="/console/keys/${keyId}/limit">Remove…</a>`;

export async function issue(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const label = keyLabel.safeParse((visit.form.get('label') ?? '').trim());
  if (!label.success)
    throw badInput(`The label ${label.error.issues[0]?.message ?? 'cannot be used'}. No key was issued.`);
  const maxKeys = maxKeysOf(termsAt(await currentUsage(visit, dependencies), dependencies.now()));
  const formKey = formKeyOf(visit);
  const issued = await issueReferencedKey(dependencies.accounts, {
    label: label.data,
    maxKeys,
    reference: formKey === undefined ? undefined : `form ${formKey}`,
    ...requestOf(visit),
  });
  if (isRefused(issued)) throw badInput(whyNotIssued(maxKeys)[issued.refusal]);
  if (issued.key === null)
    throw new PageRefusal(
      409,
      'This form has issued its key',
      'The key was shown when the form was sent first, and is stored nowhere. If nobody has copied it, revoke it in the list of keys, and issue another one.',
    );
  const inForce = await isInForce(dependencies, issued.keyId, { revoked: false });
  // A key that is shown may be used at once, and must never be answered 401.
  if (!inForce)
    throw notYetInForce(
      'A key was issued, but it does not work yet, and is never shown. In a minute it is in the list: revoke it there, and issue another one.',
    );
  return page({
    title: 'Your new API key',
    section: 'keys',
    content: html`${note('good', 'The key works at once. It is shown this once and stored nowhere: copy it now.')}
      <pre><code id="new-key">${issued.key}</code></pre>
      <p>Keep it where programs keep secrets. Whoever has it can spend your credits.</p>
      <pre><code>export REELTALLY_KEY=${issued.key}
curl -sS -H "Authorization: Bearer $REELTALLY_KEY" ${dependencies.origins.own}/api/v1/credits</code></pre>
      <p><a class="button second" href="/console/keys">I have copied it</a></p>`,
  });
}

const whyNotIssued = (maxKeys: number): Record<AccountRefusal<'issue_key'>, string> => ({
  ...accountTexts,
  too_many_keys: `${count(maxKeys)} keys are in force, as many as your plan allows. Revoke one first.`,
  too_many_new_keys: `${count(maxKeys)} keys were issued in the past hour, as many as your plan allows. Try again in an hour.`,
});

/** True once requests are answered accordingly. The change stays recorded if that cannot be found out. */
const isInForce = ({ pool }: ConsoleDependencies, keyId: string, state: { revoked: boolean }): Promise<boolean> =>
  waitForKey(pool, keyId, { ...state, timeoutMs: inForceMs }).catch(() => false);

async function findKey({ session, params }: OwnerVisit, { pool, macs }: ConsoleDependencies): Promise<KeyWithUse> {
  const keys = await listKeysWithUse(pool, { accountId: session.accountId, macs });
  const key = keys.find(({ key_id: id }) => id === params['key']);
  if (!key) throw missing();
  return key;
}

export async function confirmRevocation(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const key = await findKey(visit, dependencies);
  const used =
    key.used_in_past_hour === 0
      ? 'It was not used in the past hour.'
      : `It was used ${count(key.used_in_past_hour)} times in the past hour.`;
  return page({
    title: `Revoke ${key.label === '' ? 'a key' : key.label}`,
    section: 'keys',
    content: html`<p class="lead">
        Programs with the key <code>${key.key_prefix}…</code> are refused from then on, with
        <code>401 unauthorized</code>. ${used}
      </p>
      <p>Downloads that it has queued go on, and other keys can poll them. A revoked key never works again.</p>
      <form method="post" action="/console/keys/${key.key_id}/revoke" class="pages">
        ${formTokenField(visit.session)}
        <button class="danger">Revoke the key</button> <a href="/console/keys">Keep it</a>
      </form>`,
  });
}

export async function revoke(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const keyId = visit.params['key'] ?? '';
  const revoked = await revokeApiKey(dependencies.accounts, { keyId, ...requestOf(visit) });
  if (isRefused(revoked))
    throw revoked.refusal === 'key_not_found' ? missing() : badInput(accountTexts[revoked.refusal]);
  if (!(await isInForce(dependencies, keyId, { revoked: true })))
    throw notYetInForce('The key is revoked, but may still work for a while. Look at the list of keys in a minute.');
  return redirect(doneAt('/console/keys', 'revoked'));
}
