import { isDeepStrictEqual } from 'node:util';
import { dispatchCheckpoint } from '../../projections/runner/checkpoints.ts';
import type { Account } from '../../src/audit/rules/account.ts';
import { Divergences } from '../../src/audit/rules/divergence.ts';
import type { Link } from '../../src/audit/rules/event-schemas.ts';
import type { Period } from '../../src/audit/rules/period.ts';
import { Replay } from '../../src/audit/rules/replay.ts';
import type { CorrectionRequest } from '../../src/domain/correction-requests.ts';
import { isLastEnded } from '../../src/domain/usage-periods.ts';
import type { FileKey } from '../../src/ports/files.ts';
import { coveredUpTo } from '../../src/ports/log-position.ts';
import type { Call } from './clients.ts';
import type { StoredEvent } from './event-log.ts';
import { messageIdOf, type TakenMail } from './mail-server.ts';
import type { HeldKey } from './owners-and-staff.ts';
import type { JobRow } from './read-models.ts';
import type { Operation } from './service.ts';
import type { Violation } from './simulation.ts';
import type { World } from './world.ts';

/** The judge takes this of a simulated history, and of one of real processes. All times are milliseconds since it began. */
export interface Evidence {
  calls: readonly Call[];
  /** Corrections, as staff were told of them. */
  corrections?: readonly CorrectionRequest[];
  /** API keys that were issued in the history. */
  keys?: readonly HeldKey[];
  /** How long a period takes corrections after its end, at least. */
  graceSeconds?: number;
  world: {
    /** The instant of business time at which it began. */
    startMs: number;
    /** Business time, UTC ISO-8601. */
    now: () => string;
    /** The log as it is in the end. */
    log: {
      readAll: () => readonly StoredEvent[];
      read: (stream: string) => readonly StoredEvent[];
      /** By so much a reader may get an event later than its `shownAtMs` says. */
      shownWithinMs: number;
    };
    /** True if Postgres has failed, was late, had a row that was not believed, or told a process that its clock is wrong. */
    hadTroubleWithPostgres: (fromMs: number, toMs: number) => boolean;
    files: { has: (file: FileKey) => boolean };
    /** How long a finished file is given out. */
    fileRetentionSeconds?: number;
    /** Every link to every file is over. */
    areLinksOver?: boolean;
    /** Undefined where nothing is mailed. */
    mails?: { taken: readonly TakenMail[] } | undefined;
    accounts?: readonly { accountId: string; email: string }[];
  };
}

/**
 * Judges a history that has come to rest: the log by the second set of rules, which shares no code with the service, and then
 * every answer by the log. An answer has to be true at some instant between its request and itself.
 */
export async function judge(evidence: Evidence): Promise<Violation[]> {
  const facts = await replay(evidence.world);
  const violations = [...facts.violations];
  const rules = {
    ofCalm,
    ofTime,
    ofClosings,
    ofFiles,
    ofCharges,
    ofDownloads,
    ofMetadata,
    ofKeys,
    ofCredits,
    ofPolls,
    ofCorrections,
    ofMails,
    ofApiKeys,
  };
  for (const rule of Object.values(rules)) rule(evidence, facts, (name, what) => violations.push({ rule: name, what }));
  return violations;
}

type Report = (rule: string, what: string) => void;

/** An account's usage directly after an event. */
interface State {
  fromMs: number;
  phase: Period['phase'];
  start: string;
  end: string;
  terms: Period['terms'];
  /** Those of the next period, as far as they are known. */
  coming: Period['terms'];
  downloadCredits: number;
  metadataCredits: number;
  overageDownloads: number;
  overageCents: number;
  keyUse: ReadonlyMap<string, { downloads: number; overage_cents: number }>;
  /** The account is closed. */
  isLast: boolean;
}

interface Charge {
  /** Of a download, or the id of a metadata request. */
  name: string;
  kind: 'download' | 'metadata';
  accountId: string;
  requestId: string;
  chargedMs: number;
  overage: boolean;
  videoId: string;
  keyHash: string | undefined;
  fingerprint: string | undefined;
  after: State;
  confirmed: boolean;
  voidedMs: number;
}

interface Facts {
  violations: Violation[];
  states: Map<string, State[]>;
  charges: Map<string, Charge>;
  /** By token, in order: the status after each event, and since when. */
  statuses: Map<string, { status: string; fromMs: number }[]>;
  shownWithinMs: number;
}

const statusAfter: Readonly<Record<string, string>> = {
  JobClaimed: 'claimed',
  JobStarted: 'running',
  JobReleased: 'queued',
  JobCompleted: 'done',
  JobFailed: 'failed',
};

/** Clocks of processes differ from business time by at most so much. */
const mostSkewMs = 1_000;
/** Everything is over by then, and whatever has a time limit of its own is overdue. */
const overdueMs = 2 * 3_600_000;

/** The log, by the audit's rules, event by event. */
async function replay(world: Evidence['world']): Promise<Facts> {
  const { shownWithinMs } = world.log;
  const facts: Facts = { violations: [], states: new Map(), charges: new Map(), statuses: new Map(), shownWithinMs };
  const divergences = new Divergences();
  const ignore = () => undefined;
  let current: StoredEvent | undefined;
  const log = new Replay(
    (stream, from, count = Infinity) => Promise.resolve(world.log.read(stream).slice(from, from + count)),
    divergences.report,
    () => ({
      usageChanged: (event, period, account) => {
        noteUsage(facts, event, { period, account, atMs: current?.shownAtMs ?? 0 });
        // The audit does this when very many downloads wait.
        if (event.type === 'DownloadQueued' && event.position % 2n === 0n) log.forgetQueued(event.data.token);
      },
      accountChanged: ignore,
      accountHeadMoved: ignore,
      periodChanged: ignore,
      jobEventRecorded: ignore,
      jobChanged: ignore,
      invoiced: ignore,
      documentMailsAsked: ignore,
      documentMailed: ignore,
    }),
  );
  for (const event of world.log.readAll()) {
    current = event;
    await log.apply(event);
    const status = statusAfter[event.type];
    const { token } = event.data as { token?: string };
    if (status !== undefined && token !== undefined)
      facts.statuses.get(token)?.push({ status, fromMs: event.shownAtMs });
  }
  const overdue = new Date(Date.parse(world.now()) + overdueMs).toISOString();
  await log.completeness.check(overdue, world.log.readAll().at(-1)?.position ?? 0n, () => true);
  for (const { divergences: found } of divergences.list())
    for (const { rule, stream, revision, field, expected, found: value } of found) {
      // The rows of keys may lag longer here than the audit allows. What owners were told is judged by `ofApiKeys`.
      if (rule === 'actor_key_revoked') continue;
      const what = `${stream} ${String(revision)} ${field}: ${JSON.stringify(value)} in place of ${JSON.stringify(expected)}`;
      facts.violations.push({ rule, what });
    }
  return facts;
}

const termsOf = ({ terms, coming }: State) => ({ terms, coming });

function noteUsage(
  facts: Facts,
  { type, data, metadata }: Link,
  now: { period: Period; account: Account; atMs: number },
) {
  const { period, atMs: fromMs } = now;
  const { accountId, phase, terms, credits, totals, opened, due } = period;
  const after: State = {
    fromMs,
    phase,
    terms,
    coming: Object.assign({}, terms, ...Object.values(due)) as Period['terms'],
    downloadCredits: credits.downloads,
    metadataCredits: credits.metadata,
    start: opened?.data.period_start ?? '',
    end: opened?.data.period_end ?? '',
    overageDownloads: totals.overage_downloads,
    overageCents: totals.overage_cents,
    keyUse: new Map(period.keyUse ?? []),
    isLast: period.next === null,
  };
  const states = facts.states.get(accountId) ?? [];
  const before = states.at(-1);
  if (
    [
      'PlanChanged',
      'OverageCapSet',
      'OverageCapRemoved',
      'KeyLimitSet',
      'KeyLimitRemoved',
      'AccountSuspended',
      'SuspensionLifted',
    ].includes(type) &&
    isDeepStrictEqual(before && termsOf(before), termsOf(after))
  )
    facts.violations.push({ rule: 'change_changes', what: `${type} of ${accountId} is what holds already` });
  // Corrections of an earlier period change nothing in the newest.
  if (after.start >= (states.at(-1)?.start ?? '')) facts.states.set(accountId, [...states, after]);
  if (type === 'DownloadQueued' || type === 'MetadataCreditDebited') {
    const name = type === 'DownloadQueued' ? data.token : data.lookup_id;
    const { key_hash: keyHash, fingerprint } = data.idempotency ?? {};
    const holder = [...facts.charges.values()].find(
      (other) =>
        keyHash !== undefined &&
        other.accountId === accountId &&
        other.keyHash === keyHash &&
        other.voidedMs === Infinity,
    );
    if (holder) facts.violations.push({ rule: 'idempotency_key', what: `${name} and ${holder.name} have one key` });
    facts.charges.set(name, {
      name,
      accountId,
      keyHash,
      fingerprint,
      after,
      chargedMs: fromMs,
      videoId: data.video_id,
      kind: type === 'DownloadQueued' ? 'download' : 'metadata',
      requestId: metadata.$correlationId,
      overage: data.overage === true,
      confirmed: false,
      voidedMs: Infinity,
    });
    facts.statuses.set(name, [{ status: 'queued', fromMs }]);
  }
  const about = facts.charges.get(type === 'MetadataCreditVoided' ? data.lookup_id : data.token);
  if (about && (type === 'DownloadVoided' || type === 'MetadataCreditVoided')) about.voidedMs = fromMs;
  if (about && type === 'DownloadConfirmed') {
    if (about.confirmed) facts.violations.push({ rule: 'confirmed_once', what: `${about.name} is confirmed again` });
    about.confirmed = true;
  }
}

/** The states of an account between the request and the answer. */
function statesDuring({ states, shownWithinMs }: Facts, { accountId, sentMs, answeredMs }: Call): State[] {
  const all = states.get(accountId) ?? [];
  const endOf = (index: number) => (all[index + 1]?.fromMs ?? Infinity) + shownWithinMs;
  return all.filter(({ fromMs }, index) => fromMs <= answeredMs && endOf(index) >= sentMs);
}

const isLive = ({ voidedMs }: Charge) => voidedMs === Infinity;
const nameOf = ({ client, request }: Call) => `${client} ${request.id.slice(0, 8)}`;
const tokenOf = ({ answer }: Call) => answer?.data?.['request_token'] as string | undefined;
const callsOf = ({ calls }: Evidence, operation: string) =>
  calls.filter(({ request }) => request.operation === operation);
/** Nobody can say what its client has been told. */
const isUntold = ({ answer }: Call) => answer === undefined || answer.status === 'cut';

/** When nothing fails any more, everything is answered in time, and nothing is put off, unless staff have suspended or closed the account. */
function ofCalm({ calls }: Evidence, facts: Facts, report: Report): void {
  for (const call of calls.filter(({ client }) => client.startsWith('last.')))
    if (![200, 202, 402].includes(Number(call.answer?.status)) && !wasOutOfForce(facts, call))
      report('calm_is_served', `${nameOf(call)} was told ${String(call.answer?.status)}`);
}

/**
 * The budgets of the handlers with a last read of the log, and 3 s for a pending void; before those that do not count from the
 * request's arrival on, a statement of Postgres of 12 s at most.
 */
const longestMs: Partial<Record<Operation, number>> = {
  '/video/download': 16_000,
  '/video/metadata': 40_000,
  '/video/status': 18_000,
  '/credits': 18_000,
};

/** Each request is answered in its time, as long as its process runs. */
function ofTime({ calls }: Evidence, _facts: Facts, report: Report): void {
  for (const call of calls) {
    const { api, request, worked } = call;
    const tookMs = Number(worked.atAnswerMs ?? api.workedMs?.()) - Number(worked.atRequestMs);
    if (tookMs > (longestMs[request.operation] ?? Infinity))
      report('answered_in_time', `${nameOf(call)} was answered after ${String(tookMs)} ms`);
  }
}

/** A period takes corrections until its grace is over. */
function ofClosings({ world: { log }, graceSeconds = 0 }: Evidence, _facts: Facts, report: Report): void {
  const endedMs = new Map<string, number>();
  for (const { type, stream, metadata } of log.readAll()) {
    const atMs = Date.parse((metadata as { time: string }).time);
    if (type === 'UsagePeriodEnded') endedMs.set(stream, atMs);
    if (type === 'UsagePeriodClosed' && atMs < (endedMs.get(stream) ?? Infinity) + graceSeconds * 1_000)
      report('grace_is_over', `${stream} is closed too early`);
  }
}

/** A download that is done has its file, until every link to it is over. That none is removed before, the file store tells. */
function ofFiles({ world: { log, files, areLinksOver = false } }: Evidence, _facts: Facts, report: Report): void {
  for (const { type, data } of log.readAll()) {
    if (type !== 'JobCompleted') continue;
    const {
      token,
      claim_revision: claimRevision,
      file_name: name,
    } = data as { token: string; claim_revision: number; file_name: string };
    if (files.has({ token, claimRevision, name }) !== areLinksOver) continue;
    report(areLinksOver ? 'file_is_gone' : 'file_is_there', `${token} has ${areLinksOver ? 'a file' : 'none'}`);
  }
}

/** A file is given out as long as it is kept, by the clock of business time, and not long after. */
function isOutOfTime({ world: { log, startMs, fileRetentionSeconds = 86_400 } }: Evidence, call: Call): boolean {
  if (isLate(call)) return true;
  const { token } = call.request;
  const isEnd = ({ type, data }: StoredEvent) => type === 'JobCompleted' && (data as { token: string }).token === token;
  const completed = log.read(`job-${token ?? ''}`).find(isEnd)?.metadata as Link['metadata'] | undefined;
  if (!completed) return false;
  return startMs + call.answeredMs + 2 * mostSkewMs >= Date.parse(completed.time) + fileRetentionSeconds * 1_000;
}

/** It polled hours after the download. */
const isLate = ({ client }: Call) => client.startsWith('late');

/** Each charge comes from one request, and each request charges once. */
function ofCharges({ calls }: Evidence, { charges, statuses }: Facts, report: Report): void {
  const byId = new Map(calls.map((call) => [call.request.id, call]));
  const charged = new Set<string>();
  for (const charge of charges.values()) {
    const { name, requestId, accountId, kind } = charge;
    const call = byId.get(requestId);
    if (call?.accountId !== accountId) report('charge_has_request', `${name} was charged for nobody's request`);
    if (charged.has(requestId)) report('request_charged_once', `${requestId} was charged twice`);
    charged.add(requestId);
    const last = statuses.get(name)?.at(-1)?.status ?? '';
    if (kind === 'download' && !isLive(charge) && !['done', 'failed'].includes(last))
      report('voided_job_ends', `${name} is voided, and its job is ${last}`);
  }
}

function ofDownloads(evidence: Evidence, facts: Facts, report: Report): void {
  const calls = callsOf(evidence, '/video/download');
  const told = new Set(calls.filter(({ answer }) => answer?.status === 202).map(tokenOf));
  for (const call of calls) {
    const { answer, request, answeredMs, keyHash } = call;
    if (!answer || answer.status === 'cut') continue;
    const own = [...facts.charges.values()].find(({ requestId }) => requestId === request.id);
    if (answer.status === 202) {
      const charge = facts.charges.get(tokenOf(call) ?? '');
      if (!charge || !isLive(charge) || charge.chargedMs > answeredMs || charge.accountId !== call.accountId)
        report('accepted_is_charged', `${nameOf(call)} was told 202 for ${tokenOf(call) ?? ''}, which is not charged`);
      if (charge && charge.overage !== answer.data?.['overage']) report('price_told', `${nameOf(call)}: overage`);
      if (charge && charge.videoId !== answer.data?.['video_id'])
        report('video_told', `${nameOf(call)}: another video`);
      const remaining = own && Math.max(0, own.after.terms.downloads_limit - own.after.downloadCredits);
      if (own && own === charge && answer.creditsRemaining !== remaining)
        report(
          'remaining_true',
          `${nameOf(call)}: ${String(answer.creditsRemaining)} in place of ${String(remaining)}`,
        );
      continue;
    }
    // Another request with its key may have told of it, or may have been about to.
    const isOthers =
      own?.confirmed && calls.some((other) => other !== call && other.keyHash === keyHash && isUntold(other));
    if (own && isLive(own) && !told.has(own.name) && !isOthers)
      report('refused_is_not_charged', `${nameOf(call)} was told ${String(answer.status)}, and ${own.name} is charged`);
    if (answer.status === 402) checkRefusal(evidence, call, facts, report);
    else if (answer.status === 400) checkReuse(call, facts, report);
    else if (!['enqueue_failed', 'unavailable', 'unauthorized'].includes(answer.code ?? ''))
      report('answer_fits', `${nameOf(call)}: ${answer.code ?? ''}`);
  }
}

/** A 402 has to be true at some instant. */
function checkRefusal({ world }: Evidence, call: Call, facts: Facts, report: Report): void {
  const { code } = call.answer ?? {};
  const latest = new Date(world.startMs + call.answeredMs + mostSkewMs).toISOString();
  const isTrue = statesDuring(facts, call).some((state) => {
    const { terms, coming, end, downloadCredits, metadataCredits, overageCents } = state;
    const { downloads_limit, metadata_limit, overage_cents: rateCents, overage_cap_cents: capCents } = terms;
    // A query does not open the period that has begun.
    if (code === 'metadata_quota_exceeded' && end <= latest && coming.metadata_limit === 0) return true;
    if (code === 'metadata_quota_exceeded') return metadataCredits >= metadata_limit;
    if (isKeyUsedUp(state, code)) return true;
    if (downloadCredits < downloads_limit) return false;
    if (code === 'download_quota_exceeded') return rateCents === null;
    return rateCents !== null && overageCents + rateCents > (capCents ?? Infinity);
  });
  if (!isTrue) report('refusal_true', `${nameOf(call)} was told ${code ?? ''}, which was never true`);
}

/** A limit of one of the account's keys has no room for a download. */
function isKeyUsedUp({ terms, keyUse }: State, code: string | undefined): boolean {
  return Object.entries(terms.key_limits ?? {}).some(([id, { downloads, overage_cents: mostCents }]) => {
    const use = keyUse.get(id) ?? { downloads: 0, overage_cents: 0 };
    if (code === 'download_quota_exceeded') return downloads !== null && use.downloads >= downloads;
    return mostCents !== null && use.overage_cents + (terms.overage_cents ?? 0) > mostCents;
  });
}

/** The account of a call was suspended or closed at some instant. */
const wasOutOfForce = (facts: Facts, call: Call): boolean =>
  statesDuring(facts, call).some(({ terms, isLast }) => terms.suspended === true || isLast);

/** Its key has to have had another video's download at some instant. */
function checkReuse(call: Call, { charges, shownWithinMs }: Facts, report: Report): void {
  const { keyHash, sentMs, answeredMs, request, accountId } = call;
  const isTrue = [...charges.values()].some(
    (other) =>
      other.accountId === accountId &&
      keyHash !== undefined &&
      other.keyHash === keyHash &&
      !request.url?.endsWith(other.videoId) &&
      other.chargedMs <= answeredMs &&
      other.voidedMs + shownWithinMs >= sentMs,
  );
  if (!isTrue) report('reuse_true', `${nameOf(call)} was told of a key that no other download has`);
}

function ofMetadata(evidence: Evidence, facts: Facts, report: Report): void {
  for (const call of callsOf(evidence, '/video/metadata')) {
    const { answer, request, answeredMs } = call;
    if (!answer || answer.status === 'cut') continue;
    const own = [...facts.charges.values()].find(({ requestId }) => requestId === request.id);
    const isCharged = own !== undefined && isLive(own);
    if (answer.status === 200 && (!isCharged || own.chargedMs > answeredMs))
      report('found_is_charged', `${nameOf(call)} was told 200, and is not charged`);
    if (answer.status !== 200 && isCharged)
      report('refused_is_not_charged', `${nameOf(call)} was told ${String(answer.status)}, and is charged`);
    if (answer.status === 402) checkRefusal(evidence, call, facts, report);
    else if (
      answer.status !== 200 &&
      !['metadata_unavailable', 'unavailable', 'unauthorized'].includes(answer.code ?? '')
    )
      report('answer_fits', `${nameOf(call)}: ${answer.code ?? ''}`);
  }
}

/** A key is answered with one token, and refused for a used-up quota only while it has no download. */
function ofKeys(evidence: Evidence, { charges, shownWithinMs }: Facts, report: Report): void {
  const calls = callsOf(evidence, '/video/download').filter(({ keyHash }) => keyHash !== undefined);
  const accepted = calls.filter(({ answer }) => answer?.status === 202);
  for (const call of calls) {
    const { accountId, keyHash, sentMs, answeredMs, answer } = call;
    const isSame = (other: { accountId: string; keyHash: string | undefined }) =>
      other.accountId === accountId && other.keyHash === keyHash;
    if (answer?.status === 202) {
      const other = accepted.find((one) => isSame(one) && tokenOf(one) !== tokenOf(call));
      if (other) report('one_token_per_key', `${nameOf(call)} and ${nameOf(other)} were told two tokens of one key`);
      const first = accepted.find(isSame);
      if (JSON.stringify(first?.answer?.data) !== JSON.stringify(answer.data))
        report('same_answer', `${nameOf(call)} was told something else than the first request with its key`);
    } else if (answer?.status === 402) {
      const stood = [...charges.values()].find(
        (one) => isSame(one) && one.chargedMs + shownWithinMs < sentMs && one.voidedMs > answeredMs,
      );
      if (stood) report('key_refused', `${nameOf(call)} was told 402, and its key has ${stood.name}`);
    } else if (answer?.code === 'enqueue_failed' && !evidence.world.hadTroubleWithPostgres(sentMs, answeredMs)) {
      const isKnown = ({ api, answeredMs: knownMs }: Call) => api === call.api && knownMs < sentMs;
      const first = accepted.find((one) => isSame(one) && isKnown(one));
      if (first) report('key_failed', `${nameOf(call)} was told 502, and ${nameOf(first)} had its key's download`);
    }
  }
}

const instantOf = (text: unknown) => `${String(text).replace(' ', 'T')}Z`;

/** GET /credits shows the usage of some instant. */
function ofCredits(evidence: Evidence, facts: Facts, report: Report): void {
  for (const call of callsOf(evidence, '/credits')) {
    const { data, status } = call.answer ?? {};
    if (status !== 200 || !data) continue;
    const { downloads, metadata, overage } = data as Record<string, Record<string, number>>;
    const start = instantOf(data['period_start']);
    const isTrue = statesDuring(facts, call).some((state) => {
      const isOver = start >= state.end;
      if (!isOver && start !== state.start) return false;
      const shown = [downloads?.['used'], metadata?.['used'], overage?.['downloads'], overage?.['cents']];
      const { downloads_limit, metadata_limit } = state.terms;
      const used = [Math.min(state.downloadCredits, downloads_limit), Math.min(state.metadataCredits, metadata_limit)];
      const expected = isOver ? [0, 0, 0, 0] : [...used, state.overageDownloads, state.overageCents];
      const isLimit = isOver || (downloads?.['limit'] === downloads_limit && metadata?.['limit'] === metadata_limit);
      return isLimit && (isOver || state.phase === 'open') && expected.every((value, index) => value === shown[index]);
    });
    if (!isTrue) report('credits_true', `${nameOf(call)} was told ${JSON.stringify(data)}, which was never true`);
  }
}

/** A poll never says that there is nothing, nor an older status than a poll before it. */
function ofPolls(evidence: Evidence, { statuses }: Facts, report: Report): void {
  const polls = callsOf(evidence, '/video/status').filter(({ answer }) => answer !== undefined);
  const told: { token: string; index: number; answeredMs: number }[] = [];
  for (const call of polls.sort((one, other) => one.answeredMs - other.answeredMs)) {
    const token = call.request.token ?? '';
    const { status, data, code } = call.answer!;
    if (status === 404) report('poll_finds', `${nameOf(call)} was told that there is no ${token}`);
    else if (code === 'delivery_failed' && !isOutOfTime(evidence, call))
      report('file_is_given_out', `${nameOf(call)} was told that there is no file`);
    else if (
      status !== 200 &&
      !['unavailable', 'delivery_failed', 'unauthorized'].includes(code ?? '') &&
      status !== 'cut'
    )
      report('answer_fits', `${nameOf(call)}: ${code ?? ''}`);
    else if (isLate(call) && data?.['download_url'] !== undefined)
      report('file_is_given_out', `${nameOf(call)} was given a link hours after the download`);
    if (status !== 200) continue;
    const before = told.filter((one) => one.token === token && one.answeredMs < call.sentMs).map(({ index }) => index);
    const known = statuses.get(token) ?? [];
    const isTold = ({ status: each, fromMs }: (typeof known)[number], index: number) =>
      index >= Math.max(0, ...before) && each === data?.['status'] && fromMs <= call.answeredMs;
    const index = known.findIndex(isTold);
    if (index < 0) report('poll_true', `${nameOf(call)} was told ${String(data?.['status'])} of ${token}`);
    else told.push({ token, index, answeredMs: call.answeredMs });
  }
}

/**
 * Each mail goes out once. A second one is excused only where nobody could know of the first: the server broke off before it said
 * that it had taken the first, or the process that sent it was killed or stood still.
 */
function ofMails({ world: { mails, log, accounts = [] } }: Evidence, _facts: Facts, report: Report): void {
  if (!mails) return;
  const recorded = new Map<string, { messageId: string | null; atMs: number }>();
  /** What one mail tells: the percentages of a pool that one request has reached. */
  const together = new Map<string, string>();
  for (const { id, type, data, stream, metadata, shownAtMs: atMs } of log.readAll()) {
    const about = data as MailData;
    const { message_id: messageId = null } = about;
    if (type === 'UsageWarningMailed') recorded.set(about.warning_event_id, { messageId, atMs });
    if (type === 'OverageCapMailed') recorded.set(about.cap_event_id, { messageId, atMs });
    if (type === 'DocumentMailed') recorded.set(`${about.document_event_id}-${about.person_id}`, { messageId, atMs });
    const { $correlationId } = metadata as Link['metadata'];
    if (type === 'UsageWarningReached')
      together.set(id, `${stream} ${about.limited_key_id ?? ''} ${about.pool} ${$correlationId}`);
  }
  const sent = new Map<string, TakenMail[]>();
  for (const mail of mails.taken) {
    const { id, to, takenMs, wasNoted } = mail;
    const before = sent.get(id) ?? [];
    const isKnown = before.some(({ isTold, by }) => isTold && !by.wasDisturbed);
    if (isKnown || wasNoted || (recorded.get(id)?.atMs ?? Infinity) < takenMs)
      report('mail_once', `${id} was sent again`);
    sent.set(id, [...before, mail]);
    const account = accounts.find(({ email }) => to.length === 1 && to[0] === email);
    const about = log.readAll().find((event) => id.startsWith(event.id));
    if (!account || !about?.stream.includes(account.accountId)) report('mail_to_owner', `${id} went to ${to.join()}`);
  }
  const told = [...sent.keys()].map((id) => together.get(id)).filter((one) => one !== undefined);
  if (new Set(told).size < told.length) report('one_mail_together', 'two mails about percentages reached together');
  const messageIds = new Set([...sent.keys()].map(messageIdOf));
  for (const [id, { messageId }] of recorded)
    if (messageId !== null && !messageIds.has(messageId)) report('mail_sent', `${id} was never sent`);
  for (const id of together.keys()) if (!recorded.has(id)) report('mail_sent', `${id} waits for ever`);
}

interface MailData {
  warning_event_id: string;
  cap_event_id: string;
  document_event_id: string;
  person_id: string;
  message_id?: string | null;
  pool: string;
  limited_key_id?: string;
}

/** A key admits until its owner revokes it, and nobody once the owner was told that it is revoked. */
function ofApiKeys({ calls, keys = [] }: Evidence, facts: Facts, report: Report): void {
  const { charges } = facts;
  const charged = new Set([...charges.values()].map(({ requestId }) => requestId));
  for (const call of calls) {
    const { answer, request, sentMs, answeredMs } = call;
    const { revokingMs = Infinity, revokedMs = Infinity } = keys.find(({ apiKey }) => apiKey === request.apiKey) ?? {};
    if (answer?.status === 401 && answeredMs < revokingMs && !wasOutOfForce(facts, call))
      report('key_in_force', `${nameOf(call)} was refused with a key that is in force`);
    const isAdmitted = typeof answer?.status === 'number' && answer.status < 500 && answer.status !== 401;
    if (sentMs > revokedMs && (isAdmitted || charged.has(request.id)))
      report('revoked_key_refused', `${nameOf(call)} was admitted with a revoked key`);
  }
}

const endOfCorrection: Readonly<Record<string, string>> = {
  refused: 'CorrectionRefused',
  made: 'CorrectionMade',
  failed: 'CorrectionFailed',
};

/** What staff were told of a correction stays true: how it ended, and what it gave back. That it ends is the audit's rule. */
function ofCorrections({ corrections = [], world: { log } }: Evidence, _facts: Facts, report: Report): void {
  for (const { accountId, correctionId, status, madeCents } of corrections) {
    const events = log
      .read(`corrections-${accountId}`)
      .map(({ type, data }) => ({ type, data: data as CorrectionData }));
    const about = events.filter(({ data }) => data.correction_id === correctionId);
    const end = about.find(({ type }) => Object.values(endOfCorrection).includes(type));
    const isPermitted = about.some(({ type, data }) => type === 'CorrectionApproved' || data.needs_approval === false);
    const isTrue = status === 'asked' || (status === 'permitted' ? isPermitted : end?.type === endOfCorrection[status]);
    if (!isTrue || (status === 'made' && end?.data.cents !== madeCents))
      report('correction_told', `${correctionId} was told to be ${status}, and is ${end?.type ?? 'not'}`);
  }
}

interface CorrectionData {
  correction_id: string;
  needs_approval?: boolean;
  cents?: number;
}

/** Whether nothing is left to do: each period is ended, closed and invoiced in its time, and each promise is kept. */
export function isSettled({ postgres, log, accounts, hasWorkers, parts, now }: World, graceSeconds: number): boolean {
  const { readModels, pendingVoids, serviceFailures } = postgres;
  if (pendingVoids.size > 0 || serviceFailures.size > 0) return false;
  // A failure of the service stands in its list once the dispatcher has read it.
  const newestFailure = log.events.findLast(({ type }) => type === 'JobFailed')?.position ?? 0n;
  if (coveredUpTo(postgres.checkpoints.get(dispatchCheckpoint)?.position) < newestFailure) return false;
  const corrections = [...readModels.corrections.values()].flatMap((requests) => [...requests.values()]);
  if (corrections.some(({ status }) => status === 'permitted')) return false;
  const waiting = readModels.waitingWarnings().length + readModels.waitingDocumentMails().length;
  if (parts.mails && waiting > 0) return false;
  if (readModels.appliedUpTo !== log.events.at(-1)?.position) return false;
  const isEnded = ({ job }: JobRow) => job.status === 'done' || job.status === 'failed';
  if (hasWorkers && ![...readModels.jobs.values()].every(isEnded)) return false;
  const nowMs = Date.parse(now());
  const rows = [...readModels.credits.values()];
  const isDone = rows.every(({ snapshot: { usage, lastTime }, openingInvoiceDue, periodInvoiceDue }) => {
    if (usage.phase === 'absent' || openingInvoiceDue || periodInvoiceDue) return false;
    const endMs = Date.parse(isLastEnded(usage) ? lastTime : usage.period.end);
    if (endMs > nowMs) return true;
    // The end is recorded a little later than it comes.
    return usage.phase === 'closed' || (usage.phase === 'ended' && endMs + graceSeconds * 1_000 > nowMs - 1_000);
  });
  const isCurrent = accounts.every(({ accountId }) => {
    const usage = readModels.newestOf(accountId)?.snapshot.usage;
    if (!usage || usage.phase === 'absent') return false;
    if (isLastEnded(usage)) return readModels.closed.get(accountId) === true;
    return usage.phase === 'open' && Date.parse(usage.period.end) > nowMs;
  });
  return isDone && isCurrent;
}
