import type { Edit } from '../simulation/module-hooks.ts';

/** A mistake in the source that tests have to notice: one small edit, under which the code still runs. */
export interface PlantedFault {
  name: string;
  edit: Edit;
  /** Tests of `npm test` that notice it, by the names of their files or folders below `test`. */
  noticedBy: readonly string[];
}

const fault = (name: string, file: string, replace: string, by: string, ...noticedBy: string[]): PlantedFault => ({
  name,
  edit: { file, replace, by },
  noticedBy,
});

const usage = 'src/domain/decide-usage.ts';
const charges = 'src/domain/change-charge.ts';
const requests = 'src/domain/correction-requests.ts';
const lines = 'src/domain/invoice-lines.ts';
const admission = 'projections/admission/admission-statement.ts';
const console = 'src/console/console.ts';
const csrf = 'src/console/csrf.ts';

export const plantedFaults: readonly PlantedFault[] = [
  // Charges.
  fault('one cent more', usage, 'cents: rateCents, rate_cents', 'cents: rateCents + 1, rate_cents', 'domain'),
  fault(
    'a credit more than the plan has',
    usage,
    'downloadCredits < downloads',
    'downloadCredits <= downloads',
    'domain',
  ),
  fault('beyond the cap by one', usage, 'rateCents > capCents', 'rateCents > capCents + rateCents', 'domain'),
  fault('a lookup too many', usage, 'metadataCredits >= state', 'metadataCredits > state', 'domain'),
  fault(
    'a void that does not free the key',
    'src/commands/usage/usage-cache.ts',
    "'DownloadConfirmed' ? 'confirmed' : 'voided'",
    "'DownloadConfirmed' ? 'confirmed' : 'confirmed'",
    'commands',
  ),
  fault(
    'another request under the same key',
    usage,
    'prior.fingerprint !== idempotency?.fingerprint',
    'false',
    'domain',
  ),
  fault(
    'a void twice',
    charges,
    'if (charge.voided) return [];\n  if (charge.confirmed)',
    'if (charge.confirmed)',
    'domain',
  ),
  fault('more waived than was charged', charges, 'cents: Math.min(cents, charge.cents)', 'cents', 'domain'),
  fault(
    'a waiver of a closed period',
    charges,
    "return closed && waived.length > 0 ? refuse('period_closed') : waived;",
    'return waived;',
    'domain',
  ),
  // Invoices.
  fault('a voided charge on the invoice', lines, '.filter(({ id }) => !voided.has(id))', '', 'domain'),
  fault('a waiver that is added', lines, 'cents: -cents };', 'cents };', 'domain'),
  fault('an invoice twice', 'src/domain/invoice.ts', 'isIssued || totalCents', 'totalCents', 'domain'),
  fault(
    'a credit note beyond its line',
    'src/domain/invoice.ts',
    'note.cents > left.cents',
    'note.cents > left.cents + 1',
    'domain',
  ),
  fault(
    'a period a moment too long',
    'src/domain/billing-period.ts',
    'now >= current.end',
    'now > current.end',
    'domain',
  ),
  // Approvals.
  fault(
    'an approval by support',
    requests,
    "if (!hasRole(command.by.role, 'finance'))",
    "if (!hasRole(command.by.role, 'support'))",
    'domain',
  ),
  fault(
    'an approval of an own request',
    requests,
    'if (idsOf(command).has(request.askedBy.id))',
    'if (false)',
    'domain',
  ),
  // Jobs.
  fault(
    'a worker whose claim has ended',
    'src/domain/download-job.ts',
    ' || state.claim.revision !== claim.revision',
    '',
    'domain',
  ),
  // Read models.
  fault(
    'a checkpoint that two readers move',
    'projections/runner/checkpoints.ts',
    'where (c.position, c.prepare_position) is not distinct from (n.expected, n.expected_prepare)\n       for',
    'for',
    'projections/runner',
    'projections/usage-days',
    'projections/charges-and-timelines',
  ),
  fault(
    'events that are applied twice',
    'projections/runner/apply-batch.ts',
    'events.findIndex((event) => isAfter(positionOfEvent(event.position), position))',
    '0',
    'projections/runner',
  ),
  fault(
    'a row whose MAC is not looked at',
    'src/adapters/postgres/row-macs.ts',
    'if (key && isSame(',
    'if (key || isSame(',
    'adapters/postgres',
  ),
  fault(
    "another account's download",
    'projections/queries/account-downloads.ts',
    'download?.account_id !== accountId',
    'download === undefined',
    'projections',
  ),
  // Requests.
  fault('a revoked key', admission, 'where not k.revoked', 'where true', 'projections'),
  fault(
    'a request an hour too many',
    admission,
    'greatest(hourly_limit - cardinality',
    'greatest(hourly_limit + 1 - cardinality',
    'projections',
  ),
  fault(
    "another account's job",
    'src/http/get-video-status.ts',
    "caller.job.account_id !== caller.accountId) throw new ApiError('not_found')",
    "caller.job.account_id === '') throw new ApiError('not_found')",
    'http',
  ),
  fault(
    '402 as 403',
    'src/http/errors.ts',
    'overage_cap_reached: { status: 402',
    'overage_cap_reached: { status: 403',
    'http',
  ),
  fault(
    '502 as 503',
    'src/http/errors.ts',
    'metadata_unavailable: { status: 502',
    'metadata_unavailable: { status: 503',
    'http',
  ),
  // Pages.
  fault('a missing escape', 'src/documents/html.ts', '/[&<>"\']/g', '/[&>"\']/g', 'documents', 'console/staff/access'),
  fault(
    'a form of another session',
    csrf,
    "form.get('form_token') !== formToken",
    "form.get('form_token') === null",
    'console/staff/access',
    'console/owner/access',
  ),
  fault(
    'a form of another site',
    csrf,
    '!origins.isOrigin(headers.origin)',
    'headers.origin === undefined',
    'console/staff/access',
    'console/owner/access',
  ),
  fault(
    'a page without its role',
    console,
    'if (!site.mayOpen(access, session))',
    'if (false)',
    'console/staff/access',
  ),
  fault(
    'a cookie that scripts can read',
    'src/console/sign-in/cookies.ts',
    ' HttpOnly;',
    '',
    'console/staff/sign-in',
    'console/owner/settings',
    'console/owner/access',
  ),
  fault(
    'a session that is never idle',
    'src/adapters/postgres/session-table.ts',
    " and s.seen_at > clock_timestamp() - interval '${idle}'",
    '',
    'console/staff/sign-in',
  ),
  // Downloads and files.
  fault(
    'a private address',
    'src/downloader/egress/connection-guard.ts',
    'if (!allowed && !arePublicAndNotOwn(',
    'if (false && !arePublicAndNotOwn(',
    'downloader/egress',
  ),
  fault(
    'a link that nobody signed',
    'src/adapters/files/signed-links.ts',
    'given.length !== expected.length || !timingSafeEqual(given, expected)',
    'given.length !== expected.length',
    'adapters',
    'http/files',
  ),
  fault('a password in the log', 'src/main/logger.ts', "  'password',\n", '', 'main'),
];
