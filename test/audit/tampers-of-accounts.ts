import { bytesOf } from './forged-log.ts';
import { edit, edits, type EventTamper, parse, type Parsed, remove, repeat, tamperWith } from './tampers-of-events.ts';

/** Lies about accounts that are suspended or closed, and about the limits of keys. */

const systemActor = { type: 'system', id: 'test' };
const isLast = ({ type, fields }: Parsed) => type === 'UsagePeriodEnded' && fields.next === null;
const limitIn = ({ fields }: Parsed) => fields.limit as { downloads: number | null; overage_cents: number | null };

/** Charges that count for a limit and come after it, with no other change of it between. */
function countedAfter(set: Parsed, all: readonly Parsed[]): Parsed[] {
  const behind = all.filter(({ name, position }) => name === set.name && position > set.position);
  const end = behind.findIndex(({ type }) => type.startsWith('KeyLimit'));
  return (end < 0 ? behind : behind.slice(0, end)).filter(
    ({ type, fields }) => (type === 'DownloadCreditDebited' || type === 'OverageCharged') && 'limited_key_id' in fields,
  );
}

function hasLimit(event: Parsed): boolean {
  if (event.type === 'KeyLimitSet') return true;
  return event.type === 'UsagePeriodOpened' && event.fields.terms.key_limits !== undefined;
}

export const ofAccounts: readonly EventTamper[] = [
  ...edits('AccountSuspended', [
    ['a suspension by nobody', 'account_suspended', ({ meta }) => (meta.actor = systemActor)],
    [
      'a suspension of another account',
      'account_suspended',
      ({ fields }) => (fields.account_id = `acc_${'f'.repeat(20)}`),
    ],
  ]),
  repeat('a suspension twice', 'account_suspended', 'AccountSuspended'),
  remove('a suspension taken out', ['account_suspended', 'period_follows'], 'AccountSuspended'),
  ...edits('SuspensionLifted', [
    ['a suspension lifted by nobody', 'account_suspended', ({ meta }) => (meta.actor = systemActor)],
    [
      'another fee at the end of a suspension',
      'account_suspended',
      ({ fields }) => (fields.fee_difference_cents += 100),
    ],
    ['the fee of another plan', 'account_suspended', ({ fields }) => (fields.plan = 'enterprise')],
  ]),
  remove('charges of a suspended account', 'account_suspended', 'SuspensionLifted'),
  edit('a period without a suspension that it had', 'period_follows', 'UsagePeriodOpened', ({ fields: { terms } }) => {
    if (terms.suspended !== true) return false;
    Reflect.deleteProperty(terms, 'suspended');
    return true;
  }),
  edit('a plan with a suspension in it', 'plan_change', 'PlanChanged', ({ fields }) =>
    Object.assign(fields.terms, { suspended: true }),
  ),
  ...edits('KeyLimitSet', [
    [
      'a limit of less than was used',
      'key_limit',
      (event, all) => {
        if (countedAfter(event, all).length === 0) return false;
        limitIn(event).downloads = 0;
        return true;
      },
    ],
    [
      'a limit of less overage',
      'key_limit',
      (event, all) => {
        if (!countedAfter(event, all).some(({ type }) => type === 'OverageCharged')) return false;
        limitIn(event).overage_cents = 1;
        return true;
      },
    ],
    [
      'a limit that a key sets itself',
      'key_limit_actor',
      ({ meta, fields }) => (meta.actor = { type: 'api_key', id: fields.key_id }),
    ],
    [
      'a limit of another key',
      'key_limit',
      (event, all) => countedAfter(event, all).length > 0 && (event.fields.key_id = 'key_unknown0000000000'),
    ],
    ['a limit without a number', 'event_form', ({ fields }) => Object.assign(fields.limit, { downloads: '3' })],
    [
      'a key whose day is over',
      'key_limit',
      (event, all) =>
        countedAfter(event, all).length > 0 && Object.assign(event.fields.limit, { until: '2024-01-01T00:00:00.000Z' }),
    ],
  ]),
  tamperWith('a limit taken out', ['key_limit', 'period_follows', 'append_whole'], 'KeyLimitSet', (event, log) => {
    const all = log.rows.map(parse);
    const isFirst = !all.some(
      (other) => other.name === event.name && other.position < event.position && hasLimit(other),
    );
    if (!isFirst || countedAfter(event, all).length === 0) return false;
    log.remove(event);
    return true;
  }),
  repeat('a limit removed twice', 'key_limit', 'KeyLimitRemoved'),
  ...edits('DownloadCreditDebited', [
    [
      'a charge that counts for no limit any more',
      'key_limit',
      ({ fields }) => 'limited_key_id' in fields && Reflect.deleteProperty(fields, 'limited_key_id'),
    ],
    [
      'a charge that counts for another key',
      'key_limit',
      ({ fields }) => 'limited_key_id' in fields && Object.assign(fields, { limited_key_id: 'key_unknown0000000000' }),
    ],
  ]),
  ...edits('UsagePeriodEnded', [
    ['a last period ended by nobody', 'account_closed', (event) => isLast(event) && (event.meta.actor = systemActor)],
    [
      'a last period that ends at another time',
      'period_follows',
      (event) => isLast(event) && (event.fields.period_end = '2024-04-20T00:00:00.000Z'),
    ],
  ]),
  remove('the end of the last period taken out', 'account_closed', 'UsagePeriodEnded', isLast),
  ...edits('AccountClosed', [
    ['another account closed', 'account_events', ({ fields }) => (fields.account_id = `acc_${'f'.repeat(20)}`)],
    [
      'an account closed with a key',
      'account_closed',
      ({ meta }, all) => {
        const key = all.find(({ type }) => type === 'ApiKeyIssued');
        meta.actor = { type: 'api_key', id: key!.fields.key_id };
      },
    ],
  ]),
  repeat('an account closed twice', 'account_closed', 'AccountClosed'),
  remove('keys of a closed account that stay', 'account_closed', 'AccountClosed'),
  edit('a closing that nobody asked for', 'account_closed', 'ClosingRequested', ({ meta }) => {
    meta.actor = systemActor;
  }),
  tamperWith('a closing that is asked for behind it', 'account_closed', 'AccountClosed', (event, log, random) => {
    const asked = log.rows.map(parse).find(({ type, name }) => type === 'ClosingRequested' && name === event.name);
    if (!asked) return false;
    log.insert(event, { ...asked, id: random.uuid(), data: bytesOf(asked.fields) });
    return true;
  }),
];
