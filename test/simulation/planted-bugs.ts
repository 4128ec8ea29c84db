import type { Edit } from './module-hooks.ts';

/**
 * Bugs that the simulation has to find: mistakes that other billing systems made, and races of this repository's own history.
 * Each is a small edit of the real source, made as it is loaded. One that applies no more fails a test.
 */
export interface PlantedBug {
  name: string;
  /** What a developer might have thought. */
  what: string;
  edits: readonly Edit[];
}

const bug = (name: string, what: string, file: string, replace: string, by: string): PlantedBug => ({
  name,
  what,
  edits: [{ file: `src/${file}`, replace, by }],
});

const writer = 'commands/usage/account-writer.ts';
const batch = 'commands/usage/decide-batch.ts';
const cache = 'commands/usage/usage-cache.ts';
const tail = 'commands/usage/log-tail.ts';
const queue = 'commands/queue-download.ts';
const resolver = 'dispatcher/resolve-unknown-outcomes.ts';
const charges = 'domain/change-charge.ts';
const requests = 'domain/correction-requests.ts';
const mailing = 'dispatcher/send-mails.ts';

export const plantedBugs: readonly PlantedBug[] = [
  // The account writer.
  bug(
    'conflict-is-success',
    'a conflict is taken for success',
    writer,
    "if (outcome === 'stored') {\n        this.#answerAll",
    "if (outcome !== 'not_sent') {\n        this.#answerAll",
  ),
  bug(
    'folded-before-stored',
    'events are folded although somebody else was faster',
    writer,
    "if (outcome === 'stored') for (const event of asRecorded",
    "if (outcome !== 'not_sent') for (const event of asRecorded",
  ),
  bug(
    'flight-is-forgotten',
    'an append under way is no unknown outcome',
    writer,
    'decided.request.inFlight = append && { compensation: charge && { append, charge } };',
    'decided.request.inFlight = undefined; void charge;',
  ),
  bug(
    'unknown-is-not-stored',
    'what nobody knows is told as "not stored"',
    writer,
    "if (request.inFlight) return { outcome: 'unknown', compensation: request.inFlight.compensation };",
    "if (request.inFlight) return { outcome: 'not_stored' };",
  ),
  bug(
    'refusal-without-read',
    'a refusal needs no proof that its state is current',
    writer,
    'if (isCurrent) {\n          this.#answerAll',
    'if (isCurrent || true) {\n          this.#answerAll',
  ),
  bug(
    'failed-read-is-current',
    'a read that fails finds nothing new',
    writer,
    "isCurrent = (await this.#readTail(cache)) === 'current';\n        continue;\n      }\n      // Step 4.",
    "isCurrent = (await this.#readTail(cache)) !== 'false_state';\n        continue;\n      }\n      // Step 4.",
  ),
  bug(
    'failed-read-is-no-period',
    'a read of the next period that fails says that there is none',
    writer,
    'if (!events) return true;',
    'if (!events) return false;',
  ),
  bug(
    'late-requests-are-decided',
    'a request that has its answer is decided all the same',
    writer,
    'batch = batch.filter(({ isAnswered }) => !isAnswered);\n      if',
    'if',
  ),
  bug(
    'roll-over-is-not-undone',
    'a period that could not be opened counts as opened',
    writer,
    'if (isUnwritten) cache.snapshot = before;',
    'void [isUnwritten, before];',
  ),
  bug(
    'conflict-without-read',
    'a conflict is decided again on the same state',
    writer,
    "else isCurrent = (await this.#readAfterConflict(cache)) === 'current';",
    'else await sleep(readRetryMs);',
  ),
  bug(
    'conflict-is-false-state',
    'a conflict whose events are not shown yet says that the log was replaced',
    writer,
    "if (read === 'current' && cache.snapshot.revision === revision) await sleep(readRetryMs);\n    return read;",
    "if (read === 'current' && cache.snapshot.revision === revision) return await this.#beginAnew(cache);\n    return read;",
  ),
  bug(
    'key-between-rows',
    'a key is looked for in the row and in the cache, and not between the two',
    writer,
    'if (keyHash === undefined || cache.knowsKeyed(keyHash, request.snapshot)) continue;',
    "if (keyHash !== '') continue;",
  ),
  // The decisions of a batch.
  bug(
    'two-of-one-key',
    'two requests with one key share an append',
    batch,
    'if (keyHash !== undefined && keysWritten.has(keyHash)) {',
    "if (keyHash === '' && keysWritten.has(keyHash)) {",
  ),
  bug(
    'voided-key-repeats',
    'a voided download keeps its key',
    batch,
    'return prior?.voided === false && prior.token !== voidedToken ? prior : undefined;',
    'return prior && prior.token !== voidedToken ? prior : undefined;',
  ),
  bug(
    'earlier-key-here',
    'a download of an earlier period is confirmed in the newest',
    batch,
    'if (!prior || prior.stream >= cache.snapshot.stream) return true;',
    'if (!prior || prior.stream > "") return true;',
  ),
  bug(
    'repeat-is-compensated',
    'the compensation of a repetition voids a download that it has not queued',
    batch,
    "if (command.kind !== 'queue_download' || !events.some(({ type }) => type === 'DownloadQueued')) return undefined;",
    "if (command.kind !== 'queue_download') return undefined;",
  ),
  bug(
    'time-goes-back',
    'events are stamped by the clock of their process alone',
    batch,
    'const time = later(now, lastTime);\n  if',
    "const time = later(now, lastTime === '' ? '' : now);\n  if",
  ),
  bug(
    'ended-by-the-clock',
    'a period ends by the clock, not by the time that events will carry',
    'commands/usage/roll-over.ts',
    'if (timeOfAppend(snapshot, now) < usage.period.end ||',
    'if (now < usage.period.end ||',
  ),
  // The usage cache and the shared tail.
  bug(
    'key-is-not-cached',
    'a download of this process is left to the read model',
    cache,
    'if (idempotency) this.#tokenOfKey.set(idempotency.key_hash, token);',
    'void idempotency;',
  ),
  bug(
    'outcome-is-not-cached',
    'whether a download was voided is left to the read model',
    cache,
    'return outcome ? { ...newest, [outcome]: true } : newest;',
    'void outcome; return newest;',
  ),
  bug(
    'covers-too-much',
    'a cache knows every key since its account began',
    cache,
    'return this.#tokenOfKey.has(keyHash) || this.coversAfter(row);',
    'return this.#tokenOfKey.has(keyHash) || row.revision >= -1;',
  ),
  bug(
    'tail-from-the-newest',
    'the shared read begins where the newest of those who ask is',
    tail,
    '(reading.after < least ? reading.after : least), 2n ** 64n)',
    '(reading.after > least ? reading.after : least), 0n)',
  ),
  bug(
    'tail-under-way',
    'who asks during a read gets what that read finds',
    tail,
    'const together = this.#waiting;\n      this.#waiting = [];\n      const events = together.length > 1 ? await this.#read(together) : undefined;',
    'const events = await this.#read(this.#waiting);\n      const together = this.#waiting;\n      this.#waiting = [];',
  ),
  bug(
    'older-rows-are-missed',
    'a download that is older than the cache is not there',
    'commands/usage/writer-registry.ts',
    'if (cache?.coversAfter(row)) return undefined;',
    'if (cache) return undefined;',
  ),
  // Downloads, their keys and their metadata.
  bug(
    'unknown-prior-stands',
    'a download of an earlier period that could not be read counts as voided',
    queue,
    "if (status === 'unknown') return { outcome: 'unknown' };",
    '',
  ),
  bug(
    'told-unconfirmed',
    'a repetition is told of a download without confirming it',
    queue,
    'return repeat ? confirm(dependencies, prior, repeat) : readStatus(dependencies, prior);',
    'void repeat; void confirm; return readStatus(dependencies, prior);',
  ),
  bug(
    'repeat-unconfirmed',
    'a repetition in the same period is told without a confirmation',
    'domain/decide-usage.ts',
    "return prior.confirmed ? [] : [{ type: 'DownloadConfirmed', data: { token: prior.token } }];",
    'return [];',
  ),
  bug(
    'key-of-the-row-is-lost',
    "the read model's download with the key is not passed on",
    'http/authenticate.ts',
    "const caller = { actor: { type: 'api_key', id: keyId } as const, keyHash, accountId, job, keyed };",
    "const caller = { actor: { type: 'api_key', id: keyId } as const, keyHash, accountId, job, keyed: undefined };",
  ),
  bug(
    'probe-after-debit',
    'a metadata request is charged before it has succeeded',
    'commands/look-up-metadata.ts',
    'const found = await probe.probe(video);\n  if (!found.ok) {',
    "const found = await probe.probe(video);\n  if (!found.ok) {\n    await ask({ kind: 'debit_metadata', lookupId, video });",
  ),
  bug(
    'lookup-without-second-look',
    'a metadata request is answered although its debit was refused',
    'commands/look-up-metadata.ts',
    "if (answer.outcome !== 'accepted') return notCharged(answer);\n  return { outcome: 'found'",
    "if (answer.outcome !== 'accepted' && answer.outcome !== 'refused') return notCharged(answer);\n  return { outcome: 'found'",
  ),
  // Promises to clients.
  bug(
    'promise-without-waiting',
    '502 is answered before the pending void is stored',
    'http/post-video-download.ts',
    '!(await recordPendingVoid(unansweredOf(request), dependencies, answer.compensation))',
    '!recordPendingVoid(unansweredOf(request), dependencies, answer.compensation)',
  ),
  bug(
    'promise-of-metadata',
    'a metadata request of unknown outcome is answered without a pending void',
    'http/get-video-metadata.ts',
    '!(await recordPendingVoid(unansweredOf(request), dependencies, answer.compensation))',
    'recordPendingVoid === undefined',
  ),
  bug(
    'failed-promise-is-told',
    'a pending void that could not be stored is promised all the same',
    'commands/record-pending-void.ts',
    "part.failed('recording a pending void', error, facts);\n    return false;",
    "part.failed('recording a pending void', error, facts);\n    return true;",
  ),
  bug(
    'late-promise-is-told',
    'a pending void whose statement takes too long is promised',
    'commands/record-pending-void.ts',
    'return await withDeadline(added, recordTimeoutMs, () => false);',
    'return await withDeadline(added, recordTimeoutMs, () => true);',
  ),
  bug(
    'remaining-of-the-batch',
    'X-Credits-Remaining shows what others have used since',
    'http/post-video-download.ts',
    'if (answer.token === token) showCredits(request, summariseUsage(answer.usage, askedAt).downloads.remaining);',
    'void [showCredits, summariseUsage, askedAt];',
  ),
  // Resolvers and corrections.
  bug(
    'read-is-an-outcome',
    'a read tells whether an append was stored',
    resolver,
    'const outcome = await unlessAborted(store.append(stream, expected, events), stopping, () => undefined);',
    "const [there] = await store.read(stream, expected === 'no_stream' ? 0 : expected + 1, 1);\n  const outcome = there?.id === events[0]?.id ? 'stored' : 'conflict';",
  ),
  bug(
    'forgotten-before-void',
    'a pending void is forgotten before it is carried out',
    resolver,
    'for (const charge of pending.voids) {',
    'await pendingVoids.remove(pending);\n  for (const charge of pending.voids) {',
  ),
  bug(
    'first-void-only',
    'of several charges of an append the first is voided',
    resolver,
    'for (const charge of pending.voids) {',
    'for (const charge of pending.voids.slice(0, 1)) {',
  ),
  bug(
    'voided-job-goes-on',
    'the job of a voided download is left alone',
    resolver,
    "if (charge.kind === 'download') {",
    "if (charge.kind === 'download' && pending === null) {",
  ),
  bug(
    'void-of-the-wrong-charge',
    'the stream is read from behind the charge',
    resolver,
    "fromRevision: expected === 'no_stream' ? 0 : expected + 1,",
    "fromRevision: expected === 'no_stream' ? 0 : expected + 2,",
  ),
  bug(
    'confirmed-is-voided',
    'a download that a client was told of is voided',
    charges,
    "if (charge.confirmed) return refuse('download_confirmed');",
    '',
  ),
  bug(
    'voided-twice',
    'a void is carried out again',
    charges,
    'if (charge.voided) return [];\n  if (charge.confirmed)',
    'if (charge.confirmed)',
  ),
  bug(
    'lookup-voided-twice',
    'a void of a metadata credit is carried out again',
    charges,
    'if (charge.voided) return [];\n  if (closed)',
    'if (closed)',
  ),
  bug(
    'voided-is-confirmed',
    'a voided download is confirmed',
    charges,
    "if (charge.voided) return refuse('download_voided');",
    '',
  ),
  bug(
    'confirmed-after-close',
    'a closed period takes a confirmation',
    charges,
    'if (charge.confirmed || closed) return [];',
    'if (charge.confirmed) return [];',
  ),
  bug(
    'waiver-is-voided-too',
    'a void gives back what was waived before',
    charges,
    'change(event.data.token, ({ cents }) => ({ cents: cents - event.data.cents }));\n      waivers',
    'waivers',
  ),
  bug(
    'returned-twice',
    'a failure of the service is given back by each dispatcher',
    charges,
    'const isGivenBack = charge.voided || (charge.credits === 0 && charge.cents === 0);',
    "const isGivenBack = charge.voided || charge.type === 'MetadataCreditDebited';",
  ),
  bug(
    'note-is-forgotten',
    'a failure in a closed period is forgotten before its invoice is there',
    'dispatcher/return-service-failures.ts',
    "if (returned !== 'not_invoiced') await",
    'await',
  ),
  // Ids, periods and invoices.
  bug(
    'ids-by-place',
    'the ids of events follow from their place in the log',
    'commands/handler/event-metadata.ts',
    'const id = eventIdOf(cause.commandId, index);',
    "const id = uuidV5(`${stream} ${String((expected === 'no_stream' ? 0 : expected + 1) + index)}`, '6ba7b810-9dad-11d1-80b4-00c04fd430c8');",
  ),
  bug(
    'closed-with-promises',
    'a period is closed although a pending void names it',
    'commands/close-period.ts',
    "if (!(await closings.begin(stream))) return { outcome: 'held_up' };",
    'await closings.begin(stream);',
  ),
  bug(
    'invoiced-twice',
    'each dispatcher invoices a period',
    'domain/invoice.ts',
    'if (isIssued || totalCents === 0) return [];',
    'if ((isIssued && totalCents < 0) || totalCents === 0) return [];',
  ),
  bug(
    'due-cap-is-lost',
    'the next period begins with the overage cap of this one',
    'domain/usage-periods.ts',
    'overage_cap_cents: capCents === undefined ? terms.overage_cap_cents : capCents };',
    'overage_cap_cents: capCents === undefined ? terms.overage_cap_cents : terms.overage_cap_cents };',
  ),
  bug(
    'cap-after-the-charge',
    'the overage cap is compared with what was charged before',
    'domain/decide-usage.ts',
    'if (capCents !== null && state.overageCents + rateCents > capCents)',
    'if (capCents !== null && state.overageCents > capCents)',
  ),
  bug(
    'cap-too-early',
    'the last charge under the overage cap is refused',
    'domain/decide-usage.ts',
    'if (capCents !== null && state.overageCents + rateCents > capCents)',
    'if (capCents !== null && state.overageCents + rateCents >= capCents)',
  ),
  bug(
    'void-keeps-the-credit',
    'a void frees no credit',
    'domain/evolve-usage.ts',
    'return { ...state, metadataCredits: state.metadataCredits - 1 };',
    'return state;',
  ),
  bug(
    'notice-before-its-cause',
    'a notice comes before the change of the next period',
    'domain/decide-usage.ts',
    'return now.length > 0 ? [...now, ...notices, ...later] : [...later, ...notices];',
    'return [...now, ...notices, ...later];',
  ),
  // Jobs.
  bug(
    'zombie-goes-on',
    'a worker whose claim has ended finishes the job',
    'domain/download-job.ts',
    "if (state.claim?.workerId !== claim.workerId || state.claim.revision !== claim.revision) return refuse('claim_lost');",
    '',
  ),
  bug(
    'claim-of-a-claimed-job',
    'a job is claimed whatever it is at',
    'domain/download-job.ts',
    "if (state.status !== 'queued') return refuse('job_not_claimable');",
    '',
  ),
  bug(
    'one-attempt-more',
    'the last attempt is repeated',
    'domain/job-retries.ts',
    '!isFinal && attempts < maxAttempts;',
    '!isFinal && attempts <= maxAttempts;',
  ),
  bug(
    'lost-worker-keeps-its-job',
    'the claim of a worker that is gone stays',
    'dispatcher/sweep-lost-jobs.ts',
    'if (claimedSeconds > attemptTimeoutSeconds + overtimeSeconds) return true;',
    'if (claimedSeconds > -1) return false;',
  ),
  bug(
    'noted-after-the-checkpoint',
    'failures of the service are noted after the checkpoint',
    'dispatcher/dispatch-downloads.ts',
    'await noteServiceFailures(pool, events.flatMap(serviceFailure));\n      checkpoint = checkpointAfter(checkpoint, batch);\n      await writeCheckpoint(pool, dispatchCheckpoint, checkpoint);',
    'checkpoint = checkpointAfter(checkpoint, batch);\n      await writeCheckpoint(pool, dispatchCheckpoint, checkpoint);\n      await noteServiceFailures(pool, events.flatMap(serviceFailure));',
  ),
  bug(
    'done-before-the-file',
    'the log says that a download is done while its file is still stored',
    'worker/download.ts',
    'withRetries(() => files.put(key, file.path, mime, { sha256, signal, onProgress }), signal),',
    'Promise.resolve(void withRetries(() => files.put(key, file.path, mime, { sha256, signal, onProgress }), signal).catch(() => undefined)),',
  ),
  bug(
    'loser-removes-all',
    'a worker that has lost its claim removes every file of the job',
    'worker/download.ts',
    'await (completed ? files.purge(token, key) : files.remove(key))',
    'await (completed ? files.purge(token, key) : files.purge(token))',
  ),
  bug(
    'one-file-for-all-attempts',
    'the attempts of a job share a file',
    'worker/download.ts',
    'const key = { token, claimRevision: claim.revision, name: file.name };',
    'const key = { token, claimRevision: 0, name: file.name };',
  ),
  // Corrections that two people make.
  bug(
    'other-name-approves',
    'whoever is a member twice is two people',
    'commands/correct.ts',
    'alsoKnownAs: askers.filter((id) => isOwn.get(id))',
    'alsoKnownAs: askers.filter((id) => id === by.id)',
  ),
  bug(
    'limit-of-each-request',
    'the limit without a second person holds for each request, not for a day',
    requests,
    'cents + centsOfADay(standing, idsOf(command), now) > limitCents',
    'cents + 0 * centsOfADay(standing, idsOf(command), now) > limitCents',
  ),
  bug(
    'refused-after-permission',
    'a correction that is permitted may still be refused',
    requests,
    "if (request.status === 'refused') return [];\n  if (request.status !== 'asked') return refuse('correction_decided');",
    "if (request.status === 'refused') return [];",
  ),
  bug(
    'ends-twice',
    'each of two that carry out a correction records its end',
    requests,
    "if (request.status === 'made' || request.status === 'failed') return [];",
    "if (request.status === 'failed') return [];\n  if (request.status === 'made') return [event];",
  ),
  bug(
    'only-own-append-counts',
    'a correction has given back what this attempt has given back',
    'commands/carry-out-correction.ts',
    'if (!isRefused(waived)) return givenBy(permission,',
    "if (!isRefused(waived)) return givenBy(waived.events.length > 0 ? permission : '',",
  ),
  bug(
    'reference-of-two',
    'two corrections give back under one reference',
    requests,
    "if (standing.some((other) => other.reference === reference && overlaps(other.correction, correction)))\n    return refuse('reference_reused');",
    '',
  ),
  // API keys.
  {
    name: 'admitted-while-away',
    what: 'who was admitted before is admitted while Postgres is away',
    edits: [
      {
        file: 'src/http/authenticate.ts',
        replace: '  const lastKnown = new LRUCache<string, UsageHeaders>',
        by: '  const admitted = new Map<string, Admission>();\n  const lastKnown = new LRUCache<string, UsageHeaders>',
      },
      {
        file: 'src/http/authenticate.ts',
        replace: "      partsAway.works('postgres');\n      return admission;",
        by: "      partsAway.works('postgres');\n      if (admission) admitted.set(keyHash, { ...admission, job: undefined, keyed: undefined });\n      return admission;",
      },
      {
        file: 'src/http/authenticate.ts',
        replace: "      part.failed('a request', error);\n",
        by: "      part.failed('a request', error);\n      const before = admitted.get(keyHash);\n      if (before && token === undefined && idempotencyKeyHash === undefined) return before;\n",
      },
    ],
  },
  bug(
    'revoked-key-is-issued-again',
    'a form that is sent again issues its key anew, where that was revoked',
    'domain/account.ts',
    'if (state.keys.has(command.keyId)) return [];',
    'if (state.keys.get(command.keyId)?.revoked === false) return [];',
  ),
  // Files.
  bug(
    'links-are-forgotten',
    'the bytes of a file that has expired are removed at once',
    'domain/link-and-file-lifetimes.ts',
    'return now >= plusSeconds(later(expiredAt, lastLinkAt(finishedAt, retentionSeconds)), linkSeconds);',
    'return now >= expiredAt;',
  ),
  // Mails.
  bug(
    'claim-of-nobody',
    'a mail that another dispatcher has claimed is sent by this one too',
    mailing,
    'if (!claim) return;\n  const logged = await kind.read(waiting);\n  const { isRecorded, toldBy = null, isEarly = false, drop } = logged;\n  const isNoted = claim.taken || toldBy !== null;',
    'const logged = await kind.read(waiting);\n  const { isRecorded, toldBy = null, isEarly = false, drop } = logged;\n  const isNoted = claim?.taken === true || toldBy !== null;',
  ),
  bug(
    'read-before-claim',
    'what the log says of a mail is read before the mail is claimed',
    mailing,
    'const claim = await claimMail(pool, mailId, { by: mailerId, staleSeconds: staleClaimSeconds });\n  if (!claim) return;\n  const logged = await kind.read(waiting);',
    'const logged = await kind.read(waiting);\n  const claim = await claimMail(pool, mailId, { by: mailerId, staleSeconds: staleClaimSeconds });\n  if (!claim) return;',
  ),
  bug(
    'taken-is-not-remembered',
    'only Postgres knows which mails were taken',
    mailing,
    'const isSent = isNoted || taken.has(mailId);',
    'const isSent = isNoted;',
  ),
  bug(
    'claim-ends-before-the-record',
    'a mail that was taken is claimed by nobody while it is recorded',
    mailing,
    'await logged.record({',
    'await forgetClaim(pool, mailId);\n    await logged.record({',
  ),
  bug(
    'recorded-before-sent',
    'a mail is recorded before it is sent, so that it is never sent twice',
    mailing,
    'await mailer.send(composed);',
    'await logged.record({ messageId: mailer.messageIdOf(mailId), timeoutMs });\n      await mailer.send(composed);',
  ),
  bug(
    'lower-percentage-first',
    'a percentage is mailed although the mail of a higher one, reached with it, will tell it',
    'domain/mail-record.ts',
    'awaitsHigher: together.some((one) => one.messageId === null && isHigher(one)),',
    'awaitsHigher: false,',
  ),

  // The rules of billing.
  bug(
    'cap-said-twice',
    'a cap that holds already is set again',
    'domain/decide-usage.ts',
    'if (!changesNow && coming === capCents) return [];',
    '',
  ),
  bug(
    'fee-paid-twice',
    'an upgrade pays the difference to the plan of now, whatever the period has paid before',
    'domain/change-plan.ts',
    'terms.fee_cents - state.feeCents',
    'terms.fee_cents - state.terms.fee_cents',
  ),
  bug(
    'plan-of-now-leaves-the-due',
    'a plan of now leaves the one that is due',
    'domain/evolve-usage.ts',
    "due: withoutDue(state.due, 'plan', 'plan_of_owner'),",
    'due: state.due,',
  ),
  bug(
    'plan-replaces-the-due-cap',
    'a plan that is due takes the place of a cap that is due',
    'domain/evolve-usage.ts',
    'due: { ...state.due, ...chosen }',
    'due: chosen',
  ),
  bug(
    'no-leap-year',
    'February has 28 days',
    'domain/billing-period.ts',
    '(year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28',
    '28',
  ),
  bug(
    'anchor-day-is-lost',
    'a period begins on the day of the one before it',
    'domain/billing-period.ts',
    'end: nextAnchor(period.end, anchorDay) }',
    'end: nextAnchor(period.end, dayOf(period.end)) }',
  ),
  bug('one-waiver-per-reference', 'a reference waives one charge', charges, '`${reference} ${token}`', 'reference'),
  // An account's life, and the limits of its keys.
  bug(
    'closed-is-charged',
    'the last period takes charges behind its end',
    'domain/decide-usage.ts',
    "if (isLastEnded(state)) return command.kind === 'close_account' ? [] : refuse('account_closed');",
    "if (isLastEnded(state) && command.kind === 'close_account') return [];",
  ),
  bug(
    'suspended-is-charged',
    'whoever was admitted before a suspension is charged behind it',
    'domain/decide-usage.ts',
    "if (state.terms.suspended) return refuse('account_suspended');",
    '',
  ),
  bug(
    'suspension-ends-with-its-period',
    'the next period begins without the suspension',
    'domain/usage-periods.ts',
    'return { ...terms, ...plan, overage_cap_cents: capCents === undefined',
    'return { ...terms, ...plan, suspended: undefined, overage_cap_cents: capCents === undefined',
  ),
  bug(
    'key-limit-after-the-charge',
    'the limit of a key is compared with what it was charged before',
    'domain/decide-usage.ts',
    'use.overage_cents + charge.data.cents > limit.overage_cents',
    'use.overage_cents > limit.overage_cents',
  ),
  bug(
    'keys-of-a-closed-account-stay',
    'nobody completes a closing that was cut off',
    'dispatcher/close-periods.ts',
    '[await listAccountsToClose(pool, look), (period) => recordClosingOf(dependencies, period)],',
    '[[], (period) => recordClosingOf(dependencies, period)],',
  ),
  {
    name: 'grace-from-the-clock',
    what: 'the grace begins as the time of a period is over, not as its end is recorded',
    edits: [
      {
        file: 'src/commands/close-period.ts',
        replace: 'const notBefore = plusSeconds(endedAt, graceSeconds);',
        by: "const notBefore = usage.phase === 'absent' ? '' : plusSeconds(usage.period.end, graceSeconds);",
      },
      {
        file: 'src/domain/closing-grace.ts',
        replace: 'plusSeconds(endedAt, graceSeconds)',
        by: 'plusSeconds(usage.period.end, graceSeconds)',
      },
    ],
  },
  bug(
    'wrong-clock-says-not-queued',
    'while its clock is wrong, a process answers every download with 502',
    'http/as-api-error.ts',
    "request.idempotencyKeyHash === undefined ? whenUnavailable : 'unavailable'",
    'whenUnavailable',
  ),
];
