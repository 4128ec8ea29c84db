import { bytesOf, textOf } from './forged-log.ts';
import { edit, edits, type EventTamper, type Parsed, remove, repeat, tamperWith } from './tampers-of-events.ts';

/** Lies about staff and about what they give back, with the chain right. */

type Actor = Parsed['meta']['actor'];
const as = (actor: Actor, changed: object): Actor => ({ ...actor, ...changed });
const isSignedIn = ({ meta }: Parsed) => meta.actor.id.startsWith('stf_');
const roleOf = ({ meta }: Parsed) => (meta.actor as { role?: string }).role;

/** The request that an event of a correction is about. */
const askedOf = ({ fields }: Parsed, all: readonly Parsed[]) =>
  all.find((other) => other.type === 'CorrectionAsked' && other.fields.correction_id === fields.correction_id);

const nobody = { id: 'stf_nobody00000000000000' };

export const ofStaff: readonly EventTamper[] = [
  ...edits('ChargeWaived', [
    [
      'a waiver by staff that nobody has permitted',
      'correction_permitted',
      (event) => isSignedIn(event) && (event.meta.$causationId = event.meta.$correlationId),
    ],
    [
      'a waiver by staff under another reference',
      'correction_permitted',
      (event) => isSignedIn(event) && (event.fields.reference += '-x'),
    ],
    [
      'a waiver by somebody else of staff',
      'correction_permitted',
      (event) => isSignedIn(event) && (event.meta.actor = as(event.meta.actor, nobody)),
    ],
    [
      'a waiver by staff for another reason',
      'correction_permitted',
      (event) => isSignedIn(event) && (event.meta.actor = as(event.meta.actor, { reason: 'another' })),
    ],
    [
      'a waiver by staff without a reason',
      'event_form',
      (event) => isSignedIn(event) && (event.meta.actor = as(event.meta.actor, { reason: '' })),
    ],
    [
      'a waiver at the command line that says a correction has led to it',
      'correction_ended',
      (event) => isSignedIn(event) && (event.meta.actor = as(event.meta.actor, { id: 'maria', role: 'operator' })),
    ],
    [
      'a waiver above what was asked',
      ['correction_permitted', 'correction_amount'],
      (event) => isSignedIn(event) && (event.fields.cents += 1_000),
    ],
    [
      'a waiver below what the correction says',
      'correction_ended',
      (event) => isSignedIn(event) && (event.fields.cents -= 1),
    ],
  ]),
  remove('a waiver by staff taken out', 'correction_ended', 'ChargeWaived', isSignedIn),
  ...edits('CreditNoteIssued', [
    [
      'a credit note by staff that nobody has permitted',
      'correction_permitted',
      (event) => isSignedIn(event) && (event.meta.$causationId = event.meta.$correlationId),
    ],
    [
      'a credit note by staff of another line',
      'correction_permitted',
      (event) => isSignedIn(event) && (event.fields.line += 1),
    ],
    [
      'a credit note above what was asked',
      ['correction_permitted', 'credit_note_amount'],
      (event) => isSignedIn(event) && (event.fields.cents += 1),
    ],
  ]),
  ...edits('CreditNoteIssued', [
    [
      'a credit note by an operator that nobody has asked for',
      'correction_permitted',
      (event) => roleOf(event) === 'operator' && (event.meta.$causationId = event.meta.$correlationId),
    ],
  ]),
  ...edits('ChargeWaived', [
    [
      'a waiver by an operator that nobody has asked for',
      'correction_permitted',
      (event) => roleOf(event) === 'operator' && (event.meta.$causationId = event.meta.$correlationId),
    ],
  ]),
  remove('a credit note by staff taken out', 'correction_ended', 'CreditNoteIssued', isSignedIn),
  ...edits('CorrectionAsked', [
    [
      'an approval that was needed and is not',
      'correction_approval',
      ({ fields }) => fields.needs_approval && !(fields.needs_approval = false),
    ],
    [
      'an approval that was not needed and is',
      'correction_approval',
      ({ fields }) => !fields.needs_approval && (fields.needs_approval = true),
    ],
    [
      'a request for less than was given',
      'correction_permitted',
      ({ fields }) => fields.cents === 10 && (fields.cents = 1),
    ],
    [
      'a request of more, beyond the limit',
      'correction_approval',
      (event) => isSignedIn(event) && !event.fields.needs_approval && (event.fields.cents += 1_000),
    ],
    [
      'a higher limit',
      'correction_approval',
      (event) => roleOf(event) === 'finance' && event.fields.needs_approval && (event.fields.limit_cents = 100_000),
    ],
    [
      'a request in a higher role',
      'staff_role',
      (event) => roleOf(event) === 'support' && (event.meta.actor = as(event.meta.actor, { role: 'finance' })),
    ],
    ['a request of somebody unknown', 'staff_role', (event) => (event.meta.actor = as(event.meta.actor, nobody))],
    [
      'a request by nobody who has signed in',
      'correction_actor',
      (event) => isSignedIn(event) && (event.meta.actor = as(event.meta.actor, { id: 'maria' })),
    ],
    ['a request without a reason', 'event_form', (event) => (event.meta.actor = as(event.meta.actor, { reason: '' }))],
    [
      'a request for another account',
      'correction_order',
      ({ fields }) => (fields.account_id = 'acc_forged0000000000000'),
    ],
  ]),
  repeat('a request made twice', 'correction_order', 'CorrectionAsked'),
  repeat('the same charge asked for under the same reference', 'correction_reference', 'CorrectionAsked', (fields) => {
    fields.correction_id = '00000000-0000-4000-8000-000000000000';
  }),
  tamperWith('a request taken out', ['correction_order', 'correction_permitted'], 'CorrectionAsked', (event, log) => {
    // Without one that waits still, the history is a possible one.
    const later = log.ofStream(event.stream_key).filter(({ revision }) => revision > event.revision);
    if (!later.some(({ data }) => textOf(data).includes(event.fields.correction_id))) return false;
    log.remove(event);
    return true;
  }),
  ...edits('CorrectionApproved', [
    [
      'an approval by the person who asked',
      'correction_approval',
      (event, all) => (event.meta.actor = as(askedOf(event, all)!.meta.actor, {})),
    ],
    [
      'an approval in the role of support',
      'correction_approval',
      (event) => (event.meta.actor = as(event.meta.actor, { role: 'support' })),
    ],
    [
      'an approval in a role that the log does not say',
      'staff_role',
      (event) => (event.meta.actor = as(event.meta.actor, { role: 'finance' })),
    ],
    [
      'an approval by the operator',
      'correction_approval',
      (event) => (event.meta.actor = as(event.meta.actor, { id: 'maria', role: 'operator' })),
    ],
    [
      'an approval by the service',
      'correction_approval',
      (event) => (event.meta.actor = { type: 'system', id: 'corrections' }),
    ],
    [
      'an approval without a reason',
      'event_form',
      (event) => (event.meta.actor = as(event.meta.actor, { reason: '' })),
    ],
    [
      'an approval of another request',
      'correction_order',
      ({ fields }) => (fields.correction_id = '00000000-0000-4000-8000-000000000000'),
    ],
  ]),
  repeat('an approval given twice', 'correction_order', 'CorrectionApproved'),
  remove('an approval taken out', ['correction_order', 'correction_permitted'], 'CorrectionApproved'),
  ...edits('CorrectionRefused', [
    [
      'a refusal in the role of support by somebody else',
      'correction_approval',
      (event) => (event.meta.actor = as(event.meta.actor, { role: 'support' })),
    ],
    ['a refusal of somebody unknown', 'staff_role', (event) => (event.meta.actor = as(event.meta.actor, nobody))],
  ]),
  edit(
    'a refusal made an approval',
    'correction_ended',
    'CorrectionRefused',
    (event) => (event.type = 'CorrectionApproved'),
  ),
  ...edits('CorrectionMade', [
    ['an end of another amount', 'correction_ended', ({ fields }) => (fields.cents -= 1)],
    ['an end above what was asked', 'correction_ended', ({ fields }) => (fields.cents += 1_000)],
    ['an end by a person', 'correction_order', (event) => (event.meta.actor = as(event.meta.actor, { type: 'owner' }))],
    ['an end that names no permission', 'correction_order', ({ meta }) => (meta.$causationId = meta.$correlationId)],
  ]),
  repeat('an end told twice', 'correction_order', 'CorrectionMade'),
  remove('the end of what was given back taken out', 'correction_ended', 'CorrectionMade'),
  edit('money given back, and said to have failed', 'correction_ended', 'CorrectionMade', (event) => {
    event.type = 'CorrectionFailed';
    event.fields = { correction_id: event.fields.correction_id, why: 'period_closed' } as Parsed['fields'];
  }),
  edit('nothing given back, and said to be made', 'correction_ended', 'CorrectionFailed', (event) => {
    event.type = 'CorrectionMade';
    event.fields = { correction_id: event.fields.correction_id, cents: 1 } as Parsed['fields'];
  }),
  remove('a failure taken out', 'correction_ended', 'CorrectionFailed'),
  ...edits('StaffInvited', [
    [
      'an invitation in a lower role',
      ['staff_role', 'staff_events'],
      ({ fields }) => fields.role === 'admin' && (fields.role = 'support'),
    ],
    ['an invitation in a role that there is not', 'staff_events', ({ fields }) => (fields.role = 'owner')],
    ['an invitation of somebody else', 'staff_events', ({ fields }) => (fields.staff_id = nobody.id)],
    ['an invitation by the service', 'staff_managed', ({ meta }) => (meta.actor = { type: 'system', id: 'test' })],
    [
      'an invitation by nobody known',
      ['staff_role', 'staff_managed'],
      ({ meta }) => (meta.actor = as(meta.actor, { ...nobody, role: 'admin' })),
    ],
  ]),
  repeat('an invitation made twice', 'staff_events', 'StaffInvited'),
  remove('an invitation of staff taken out', ['staff_events', 'staff_role'], 'StaffInvited'),
  ...edits('StaffSignedIn', [
    ['a sign-in in another role', ['staff_events', 'staff_role'], ({ fields }) => (fields.role = 'owner')],
    ['a sign-in for somebody else', 'staff_managed', ({ meta }) => (meta.actor = as(meta.actor, nobody))],
    ['a sign-in by a provider of somebody invited', 'staff_events', ({ fields }) => (fields.by = 'provider')],
  ]),
  ...edits('StaffRoleChanged', [
    ['a change of role by support', 'staff_managed', ({ meta }) => (meta.actor = as(meta.actor, { role: 'support' }))],
    ['a change to a role that there is not', 'staff_events', ({ fields }) => (fields.role = 'owner')],
  ]),
  repeat('a removal made twice', 'staff_events', 'StaffRemoved'),
  tamperWith('something done long after the removal', 'staff_role', 'StaffInvited', (event, log, random) => {
    if (event.fields.role !== 'admin') return false;
    const fields = { staff_id: event.fields.staff_id };
    const [signedIn] = log.ofStream(event.stream_key).slice(-1);
    log.insert(signedIn ?? event, { ...event, id: random.uuid(), type: 'StaffRemoved', data: bytesOf(fields) });
    return true;
  }),
  edit(
    'a look for somebody else',
    'staff_managed',
    'PersonalDataViewed',
    ({ meta }) => (meta.actor = as(meta.actor, nobody)),
  ),
  edit('a removal that came twice, first as a change of role', 'staff_events', 'StaffRoleChanged', (event) => {
    event.type = 'StaffRemoved';
    event.fields = { staff_id: event.fields.staff_id } as Parsed['fields'];
  }),
  ...edits('StaffTokenIssued', [
    [
      'a token issued by its member',
      'staff_managed',
      ({ meta, fields }) => (meta.actor = as(meta.actor, { id: fields.staff_id, role: 'support' })),
    ],
    ['a token without scopes that are texts', 'event_form', ({ fields }) => Object.assign(fields, { scopes: [1] })],
  ]),
  repeat('a token issued twice', 'staff_events', 'StaffTokenIssued'),
  repeat('a token revoked twice', 'staff_events', 'StaffTokenRevoked'),
];

/** Invitations by which somebody else is the same person under another id. */
export const ofOnePerson: readonly EventTamper[] = edits('StaffInvited', [
  [
    'an approval by the person who asked, under another id',
    'correction_approval',
    ({ fields }) => fields.role === 'admin' && Object.assign(fields, { personal: { email: 'SUPPORT@example.com' } }),
  ],
  [
    'an approval by the person who asked, under another name of the mailbox',
    'correction_approval',
    ({ fields }) => fields.role === 'admin' && Object.assign(fields, { personal: { email: 'support+x@Example.com' } }),
  ],
  [
    'an approval by the person who asked, at an address that is not verified',
    'correction_approval',
    ({ fields }) =>
      fields.role === 'admin' && Object.assign(fields, { personal: { unverified_email: 'support@example.com' } }),
  ],
  [
    'an approval by somebody without an address',
    'correction_approval',
    ({ fields }) => fields.role === 'admin' && Object.assign(fields, { personal: {} }),
  ],
  [
    'a limit that was passed under a second id',
    'correction_approval',
    ({ fields }) => fields.role === 'finance' && Object.assign(fields, { personal: { email: 'admin@example.com' } }),
  ],
]);
