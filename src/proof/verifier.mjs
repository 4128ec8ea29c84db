/**
 * Verifies a proof of an invoice or a credit note offline: in Node, by `node verifier.mjs PROOF --key KEY`, and in a browser. It
 * shares no code with the service and needs no package. docs/proofs.md says what it proves, and what it does not.
 */

/** @typedef {any} Json what is parsed, and checked before it is read */
/** @typedef {{ name: string, cents: number, origin: string, size: number, index: number, lines: Json[], charges: Json[], verdict: string }} Verified */
/** What is wrong, in a sentence, with its place. */
export class NotVerified extends Error {}
/** @type {(isSo: Json, what: string) => asserts isSo} */
const must = (isSo, what) => {
  if (!isSo) throw new NotVerified(what);
};
/** RFC 8785. @type {(value: Json) => string} */
const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'missing';
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  return `{${names.sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
};
/** @type {(parts: Json[]) => number} */ const sum = (parts) => parts.reduce((total, { cents }) => total + cents, 0);

// All that a proof may hold, by its fields. `?`: it may be missing; `~`: it may be null; `:`: a part with fields of its own; `*`: a
// list of them; `%`: by names of their own. What is not here is refused, because nobody would know what it means.
const span = 'period_start period_end';
const plan = `plan downloads_limit metadata_limit overage_cents~ rate_version fee_cents hourly_limit max_keys? warning_percents service_failures_returned?`;
const forms = new Map(
  `proof = format documents:event* previous_hash period:event* document_proof closing_proof~; data =; source = stream revision id hash
  event = stream revision id type data:data metadata:metadata; actor = type id role? reason?; promised = process at; plan = ${plan}
  metadata = $correlationId $causationId $traceparent? schema actor:actor time hash; next = ${span} terms:terms
  terms = ${plan} overage_cap_cents~ suspended? key_limits?:limit%; limit = downloads~ overage_cents~ until~
  line = kind cents plan? period_start? period_end? event?:source rate_cents? rate_version? quantity? stream? revisions?
  UsagePeriodOpened = account_id anchor_day ${span} previous_period_start~ terms:terms; UsagePeriodEnded = ${span} next~:next
  PlanChanged = effective terms:plan fee_difference_cents chosen_by_owner?; SuspensionLifted = plan fee_difference_cents; AccountSuspended = account_id
  OverageCapSet = effective overage_cap_cents; OverageCapRemoved = effective; KeyLimitSet = key_id limit:limit; KeyLimitRemoved = key_id
  DownloadCreditDebited = token ordinal limited_key_id?; OverageCharged = token ordinal cents rate_cents rate_version limited_key_id?; DownloadConfirmed = token
  DownloadQueued = token platform video_id url format quality audio_format item overage idempotency~:idempotency; idempotency = key_hash fingerprint
  MetadataCreditDebited = lookup_id ordinal platform video_id download_refusal?~
  DownloadVoided = token charge_event_id credits overage_downloads cents limited_key_id? promised?:promised
  MetadataCreditVoided = lookup_id charge_event_id promised?:promised; OverageCapMailed = cap_event_id message_id
  UsageWarningReached = pool threshold_percent limited_key_id? used limit; OverageCapReached = overage_cents overage_cap_cents
  UsageWarningMailed = warning_event_id pool threshold_percent limited_key_id? message_id; credited = token charge_event_id cents
  ChargeWaived = reference token charge_event_id cents overage_downloads limited_key_id?; DownloadCreditReturned = token charge_event_id limited_key_id?
  UsagePeriodClosed = ${span} downloads download_credits overage_downloads overage_cents metadata_credits fee_difference_cents
  InvoiceIssued = number account_id covers ${span} currency lines:line* total_cents mail_to?
  CreditNoteIssued = number account_id reference invoice_number line charges:credited* currency cents mail_to?
  DocumentMailAsked = account_id document_event_id document_revision mail_to; DocumentMailed = account_id document_event_id person_id message_id~`
    .split(/; |\n +/)
    .map((form) => form.split(' ='))
    .map(([form, fields = '']) => [form, [...fields.matchAll(/([$\w]+)(\??)(~?)(?::(\w+)([*%]?))?/g)]]),
);
const numbers =
  /(^|_)(cents|limit|keys|day|ordinal|number|line|revision|schema|item|used|percent|credits|downloads|quantity)$/;
/** @type {(value: Json, form: string, where: string) => void} */
const requireForm = (value, form, where) => {
  const fields = forms.get(form);
  must(fields && typeof value === 'object' && value && !Array.isArray(value), `${where}: ${form} is not known here`);
  for (const [, name = '', may, nullable, part, many] of fields) {
    const field = value[name];
    if (field === undefined ? may : field === null && nullable) continue;
    const isScalar = [field].flat(2).every((each) => typeof each !== 'object' && each !== undefined);
    const isRight = numbers.test(name) ? Number.isSafeInteger(field) : isScalar;
    must(part ? many !== '*' || Array.isArray(field) : isRight, `${where}: ${name} is missing, or is wrong`);
    if (part) for (const each of many ? Object.values(field) : [field]) requireForm(each, part, `${where}, ${name}`);
  }
  const surplus = Object.keys(value).find((name) => !fields.some(([, known]) => known === name));
  must(form === 'data' || surplus === undefined, `${where}: the field ${surplus} is not known`);
};

/** @type {(text: string) => Uint8Array<ArrayBuffer>} */ const utf8 = (text) => new TextEncoder().encode(text);
const hexOfByte = (/** @type {number} */ byte) => byte.toString(16).padStart(2, '0');
/** @type {(of: Uint8Array) => string} */ const hexOf = (of) => [...of].map(hexOfByte).join('');
/** @type {(...parts: ArrayLike<number>[]) => Promise<Uint8Array>} */
const sha256 = async (...parts) => {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
};
/** @type {(text: string, length: number) => Uint8Array<ArrayBuffer>} */
const bytesOfBase64 = (text, length) => {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  must(bytes.length === length && btoa(String.fromCharCode(...bytes)) === text, `${text} is not base64`);
  return bytes;
};

/** C2SP signed-note and tlog-checkpoint. Signatures with other keys say nothing. @type {(note: string, key: string) => Promise<Json>} */
const openCheckpoint = async (note, key) => {
  const [, name, id = '', base64 = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S{44})$/.exec(key.trim()) ?? [];
  must(name, 'the public key is missing, or is not written as name+id+base64');
  const raw = bytesOfBase64(base64, 33);
  const isOfId = hexOf(await sha256(utf8(`${name}\n`), raw)).startsWith(id);
  must(raw[0] === 1 && isOfId, 'the public key is not one of Ed25519, or does not have its id');
  const form = /^((\S+)\n([1-9]\d{0,14})\n(\S{44})\n)\n((?:— \S+ \S+\n)+)$/;
  const [, text = '', origin, size, root = '', lines = ''] = form.exec(note) ?? [];
  const named = lines.split('\n').filter((line) => line.startsWith(`— ${name} `));
  const signatures = named.map((line) => bytesOfBase64(line.slice(name.length + 3), 68));
  const signature = signatures.find((bytes) => hexOf(bytes).startsWith(id)) ?? new Uint8Array();
  const publicKey = await crypto.subtle.importKey('raw', raw.slice(1), 'Ed25519', false, ['verify']);
  const isSigned = await crypto.subtle.verify('Ed25519', publicKey, signature.slice(4), utf8(text));
  must(isSigned && origin === name, 'the checkpoint is not one of the log of this key, signed with it');
  return { origin, size: Number(size), root: hexOf(bytesOfBase64(root, 32)) };
};
/** C2SP tlog-proof; RFC 9162, section 2.1.3.2. @type {(name: string, proof: string, hash: Uint8Array, key: string) => Promise<Json>} */
const findInLog = async (name, proof, hash, key) => {
  const form = /^c2sp\.org\/tlog-proof@v1\nindex (0|[1-9]\d{0,14})\n((?:\S+\n)*)\n([^]*)$/;
  const [, index, path = '', note = ''] = form.exec(proof) ?? [];
  const { origin, size, root } = await openCheckpoint(note, key);
  let [place, last, node] = [Number(index), size - 1, await sha256([0], hash)];
  for (const line of path.split('\n').slice(0, -1)) {
    const beside = bytesOfBase64(line, 32);
    must(place <= last && last > 0, `${name} lies beyond the signed log, or its path is too long`);
    const isRight = place % 2 === 1 || place === last;
    node = await (isRight ? sha256([1], beside, node) : sha256([1], node, beside));
    while (isRight && place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  must(place === 0 && last === 0 && hexOf(node) === root, `${name} is not in the signed log`);
  return { origin, size, index: Number(index), note };
};
/** Each event is chained to the one before it. @type {(events: Json[], before: Uint8Array) => Promise<Uint8Array>} */
const requireChain = async ([...events], before) => {
  const [{ stream, revision: first }] = events;
  const isBegun = first > 0 || hexOf(before) === hexOf(await sha256(utf8(stream)));
  must(isBegun, `${stream} does not begin with the hash of its name`);
  let [hash, time] = [before, ''];
  for (const [at, event] of events.entries()) {
    const { type, data, metadata } = event;
    const where = `revision ${first + at} of ${stream}`;
    must(event.stream === stream && event.revision === first + at, `${where} is missing`);
    hash = await sha256(hash, utf8(canonical({ ...event, metadata: { ...metadata, hash: undefined } })));
    must(hexOf(hash) === metadata.hash, `${where} was changed, or what is before it`);
    requireForm(data, type, where);
    must(metadata.schema === 1 && metadata.time >= time, `${where} is older than the one before it`);
    time = metadata.time;
  }
  return hash;
};

/** @type {(event: Json) => boolean} */
const isOfService = ({ metadata: { actor } }) => actor.type === 'system' && actor.id === 'service-failures';
/** Staff give back, and the service for a failure of its own. @type {(event: Json, token: string) => boolean} */
const mayGive = (event, token) =>
  isOfService(event) ? event.data.reference === `service-failure-${token}` : event.metadata.actor.type === 'staff';
/** @type {(terms: Json) => number} */ const feeOf = ({ suspended, fee_cents }) => (suspended ? 0 : fee_cents);
/** @type {(event: Json) => Json} */
const sourceOf = ({ stream, revision, id, metadata: { hash } }) => ({ stream, revision, id, hash });
/** @type {(event: Json, next: Json) => Json} */
const feeLine = (event, { terms, period_start, period_end }) => {
  return { kind: 'fee', plan: terms.plan, period_start, period_end, cents: feeOf(terms), event: sourceOf(event) };
};
const isChange = /^(PlanChanged|OverageCap(Set|Removed)|AccountSuspended|SuspensionLifted)$/;
const isCorrection = /^(Download(Confirmed|Voided|CreditReturned)|MetadataCreditVoided|ChargeWaived)$/;
const isOther = /^((UsageWarning|OverageCap)(Reached|Mailed)|KeyLimit(Set|Removed))$/;

/** Rates a period again by the rules of docs/billing.md. @type {(events: Json[]) => Json} */
const recount = ([{ stream, data: opening }, ...events]) => {
  const { anchor_day: anchor, period_start: start, period_end: end } = opening;
  let [phase, terms, queued] = ['open', opening.terms, ''];
  const [charges, references, due, waivers, fees] = /** @type {Json[]} */ ([new Map(), new Set(), {}, [], []]);
  const accepted = { downloads: 0, metadata: 0 };
  const credits = { ...accepted };
  const sums = { overage_downloads: 0, overage_cents: 0, fee_difference_cents: 0 };
  for (const event of events) {
    const { type, id, metadata, data } = event;
    const { token, lookup_id: name = token, ordinal, cents = 0, rate_version, effective = 'now', next } = data;
    /** @type {(isSo: Json, what: string) => void} */
    const check = (isSo, what) => must(isSo, `revision ${event.revision} of ${stream} (${type}): ${what}`);
    const of = charges.get(name);
    const pool = token === undefined ? 'metadata' : 'downloads';
    const isCharge = /(Debited|Charged)$/.test(type);
    const isInTime = metadata.time >= start && (metadata.time < end || !(isCharge || isChange.test(type)));
    const isLater = isCorrection.test(type) || /Mailed$|^UsagePeriodClosed$/.test(type);
    const isInPhase = phase === 'open' ? type !== 'UsagePeriodClosed' : phase === 'ended' && isLater;
    check(isInTime && isInPhase, `it comes at ${metadata.time}, when the period is ${phase}`);
    check((type === 'DownloadQueued') === (queued !== ''), 'a charge and its download are not side by side');
    if (isCharge) {
      const { overage_cents: price, rate_version: version, overage_cap_cents: cap, [`${pool}_limit`]: limit } = terms;
      const left = limit - credits[pool];
      const rate = type === 'OverageCharged' ? { rate_cents: data.rate_cents, rate_version } : null;
      accepted[pool] += 1;
      check(!of && !terms.suspended, of ? `${name} is charged twice` : 'the account is suspended');
      check(ordinal === accepted[pool], `it is number ${ordinal}, not ${accepted[pool]}: a charge is left out`);
      check(rate ? left <= 0 : left > 0, `it is charged as ${type}, and ${left} of ${limit} credits are left`);
      const isPrice = !rate || (cents === price && rate.rate_cents === price && rate_version === version);
      check(isPrice, `it costs ${cents} cents (${rate_version}); by the terms it is ${price} (${version})`);
      charges.set(name, { event, id, rate, cents, credits: rate ? 0 : 1 });
      if (token !== undefined) queued = canonical([token, rate !== null]);
      credits[pool] += rate ? 0 : 1;
      sums.overage_downloads += rate ? 1 : 0;
      sums.overage_cents += cents;
      check(!rate || sums.overage_cents <= (cap ?? Infinity), `it exceeds the overage cap of ${cap} cents`);
    } else if (type === 'DownloadQueued') {
      check(queued === canonical([token, data.overage]), 'it is of another charge');
      queued = '';
    } else if (isChange.test(type)) {
      const cap = type.startsWith('OverageCap') && { overage_cap_cents: data.overage_cap_cents ?? null };
      const change = data.terms ?? (cap || { suspended: type === 'AccountSuspended' || undefined });
      const [isNow, isFree] = [effective === 'now', cap || type === 'SuspensionLifted' || !terms.suspended];
      check(isFree && (isNow || effective === 'next_period'), 'the account is suspended');
      if (data.effective) due[cap ? 'cap' : 'plan'] = isNow ? {} : change;
      if (isNow) terms = { ...terms, ...change };
      const { plan = terms.plan, fee_difference_cents: found } = { ...change, ...data };
      if (found === undefined) continue;
      // Nothing is prorated: what lies above the fee of the period so far is due.
      const rise = isNow ? Math.max(0, terms.fee_cents - feeOf(opening.terms) - sums.fee_difference_cents) : 0;
      check(found === rise, `the fee rises by ${found} cents; by the terms it is ${rise}`);
      sums.fee_difference_cents += rise;
      fees.push({ kind: 'fee_difference', plan, cents: rise, event: sourceOf(event) });
    } else if (isCorrection.test(type)) {
      const [isVoid, isWaiver, isConfirmed] = ['Voided', 'Waived', 'Confirmed'].map((what) => type.endsWith(what));
      const { credits: given = isWaiver || isConfirmed ? 0 : 1, overage_downloads: downloads, reference } = data;
      check(of && !of.isVoided && (isConfirmed || data.charge_event_id === of.id), 'its charge is not there');
      check(cents <= of.cents && given <= of.credits, `only ${of.cents} cents and ${of.credits} credits are left`);
      const isAll = cents === of.cents && given === of.credits;
      const isRight = isVoid ? isAll && !of.isConfirmed : isConfirmed || (isWaiver ? cents > 0 : isOfService(event));
      const isReturned = isAll && terms.service_failures_returned !== false;
      const isDue = isVoid || isConfirmed || isReturned || !isOfService(event);
      check(isRight && isDue && (!isWaiver || mayGive(event, token)), 'it may not give this back');
      const last = cents > 0 && isAll ? 1 : 0;
      check((downloads ?? last) === last, `it gives back ${downloads} downloads; it should be ${last}`);
      check(!isWaiver || references.size < references.add(`${reference} ${token}`).size, `it repeats ${reference}`);
      if (isWaiver) waivers.push({ of, event, cents: -cents });
      Object.assign(of, { cents: of.cents - cents, credits: of.credits - given, isVoided: isVoid });
      of.isConfirmed ||= isConfirmed;
      credits[pool] -= given;
      sums.overage_downloads -= last;
      sums.overage_cents -= cents;
    } else if (type === 'UsagePeriodEnded') {
      const [year, month] = [Number(end.slice(0, 4)), Number(end.slice(5, 7))];
      const day = Math.min(anchor, new Date(Date.UTC(year, month + 1, 0)).getUTCDate());
      const nextEnd = new Date(Date.UTC(year, month, day)).toISOString();
      const coming = Object.assign({}, terms, ...Object.values(due), { key_limits: next?.terms.key_limits });
      const following = next && { period_start: end, period_end: nextEnd, terms: coming };
      const right = canonical({ period_start: start, period_end: end, next: following });
      check(canonical(data) === right && (!next || metadata.time >= end), `by the events it is ${right}, later`);
      phase = 'ended';
      if (next) fees.push(feeLine(event, next));
    } else if (type === 'UsagePeriodClosed') {
      const held = { download_credits: credits.downloads, metadata_credits: credits.metadata };
      const right = { period_start: start, period_end: end, downloads: accepted.downloads, ...held, ...sums };
      for (const [field, value] of Object.entries(right))
        check(data[field] === value, `${field} is ${data[field]}; by the events it is ${value}`);
      phase = 'closed';
    } else check(isOther.test(type), 'it is of another stream');
  }
  return { phase, charges: [...charges.values()], waivers, fees };
};

/** The lines that the invoice of a period has. @type {(period: Json) => Json[]} */
const linesOf = ({ charges, waivers, fees }) => {
  const overage = charges.map((/** @type {Json} */ of) => ({ of, event: of.event, cents: of.event.data.cents }));
  let left = 10_000;
  const counted = Object.entries({ overage, waivers }).flatMap(([kind, all]) => {
    const kept = /** @type {Json[]} */ (all).filter(({ of }) => of.rate && !of.isVoided);
    return [...Map.groupBy(kept, ({ of }) => canonical(of.rate)).values()].map((ofRate) => {
      let revisions = /** @type {Json[]} */ ([]);
      for (const { event } of ofRate) {
        const last = revisions.at(-1);
        const step = last && event.revision - last[1];
        if (last && (last[0] === last[1] || step === last[2])) last.splice(1, 2, event.revision, step);
        else revisions.push([event.revision, event.revision, 1]);
      }
      // An invoice fits into one event: a line that would need too many ranges has one that spans all of them.
      if (revisions.length > Math.min(left, 5_000)) revisions = [[revisions[0][0], revisions.at(-1)[1], 1]];
      left -= revisions.length;
      const { of, event } = ofRate[0];
      return { kind, ...of.rate, quantity: ofRate.length, cents: sum(ofRate), stream: event.stream, revisions };
    });
  });
  const ofKind = (/** @type {string} */ kind) => fees.filter((/** @type {Json} */ fee) => fee.kind === kind);
  return [...counted, ...ofKind('fee_difference'), ...ofKind('fee')].filter(({ cents }) => cents !== 0);
};
/** @type {(found: Json, lines: Json[], about: Json) => void} */
const requireInvoice = (found, lines, about) => {
  for (const [at, line] of found.lines.entries()) {
    const [where, due] = [`line ${at + 1} of the invoice (${line.kind})`, lines[at]];
    must(/^(overage|waivers|fee_difference|fee)$/.test(line.kind), `${where} is of an unknown kind`);
    must(line.kind === due?.kind, `${where} follows from no event`);
    const more = line.quantity > due.quantity ? 'names one twice' : 'leaves one out';
    must(line.quantity === due.quantity, `${where} ${more}: it has ${line.quantity}, by the events ${due.quantity}`);
    for (const name of Object.keys({ ...due, ...line })) {
      const [is, right] = [line[name], due[name]].map(canonical);
      must(is === right, `${where}: ${name} is ${is}; by the events it is ${right}`);
    }
  }
  const missing = lines[found.lines.length];
  must(!missing, `the invoice leaves out the line ${canonical(missing)}`);
  for (const [name, due] of Object.entries({ ...about, currency: 'USD', total_cents: sum(lines) }))
    must(found[name] === due, `${name} of the invoice is ${found[name]}; by the events it is ${due}`);
};
/** Credit notes stay within the invoice, its lines and their charges. @type {(documents: Json[], charges: Json[]) => void} */
const requireCreditNotes = ([{ data: invoice }, ...documents], charges) => {
  const given = /** @type {Json[]} */ ([]);
  for (const note of documents.filter(({ data }) => data.invoice_number === invoice.number)) {
    const { line, reference, charges: named, cents: total, currency } = note.data;
    const of = invoice.lines[line - 1];
    /** @type {(isSo: Json, what: string) => void} */
    const check = (isSo, what) => must(isSo, `credit note ${note.data.number} ${what}`);
    const rate = of?.kind === 'overage' && canonical({ rate_cents: of.rate_cents, rate_version: of.rate_version });
    const ofLine = charges.filter((charge) => charge.rate && !charge.isVoided && canonical(charge.rate) === rate);
    const tokens = named.map((/** @type {Json} */ { token }) => token).join(' ');
    check(of && currency === 'USD' && mayGive(note, tokens), 'is about no line, or by nobody who gives back');
    for (const part of named.length > 0 ? named : [{ cents: total }]) {
      const charge = ofLine.find(({ id }) => id === part.charge_event_id);
      check(
        part.token === undefined || charge?.event.data.token === part.token,
        'names a charge that is not one of its line',
      );
      const ofPart = given.filter(({ token }) => token === part.token);
      check(!ofPart.some((other) => other.reference === reference), `gives back for ${reference} twice`);
      check(part.cents > 0 && (!charge || sum(ofPart) + part.cents <= charge.cents), 'gives back more than is left');
      given.push({ ...part, line, reference });
    }
    const most = rate ? sum(ofLine) : of.cents;
    check(named.length === 0 || sum(named) === total, 'is not the sum of its charges');
    const isWithin = sum(given.filter((part) => part.line === line)) <= most && sum(given) <= invoice.total_cents;
    check(isWithin, 'gives back more than is left of its line, or of the invoice');
  }
};

/** Verifies the text of a proof with the log's key. @type {(text: string, key: string, wanted?: string) => Promise<Verified>} */
export const verify = async (text, key, wanted) => {
  if (!text.endsWith('}\n')) throw new SyntaxError('the file is truncated, or is no proof');
  const proof = JSON.parse(text);
  must(proof?.format === 'reeltally-invoice-proof/1', 'the file is no proof of a kind that is known here');
  requireForm(proof, 'proof', 'the file');
  must(text === `${canonical(proof)}\n`, 'the file was changed: it is not written as RFC 8785 says');
  const { documents, period, document_proof, closing_proof, previous_hash } = proof;
  const [invoice, document, opening] = [documents[0], documents.at(-1), period[0]];
  const isNote = document.type === 'CreditNoteIssued';
  must(invoice.type === 'InvoiceIssued' && isNote === documents.length > 1, 'the file has no invoice');
  const { account_id, period_start, period_end, previous_period_start } = opening.data;
  const groups = account_id.slice(4).replaceAll(/.{4}(?=.)/g, '$&-');
  const name = `${isNote ? 'CN' : 'INV'}-${groups.toUpperCase()}-${document.data.number}`;
  const isAbout = !isNote || document.data.invoice_number === invoice.data.number;
  must(isAbout, `${name} is not about the invoice that the file begins with`);
  must(!wanted || wanted === name, `the file is a proof of ${name}, not of ${wanted}`);
  const hash = await requireChain(documents, bytesOfBase64(previous_hash, 32));
  const { note, ...place } = await findInLog('the document', document_proof, hash, key);
  const closingHash = await requireChain(period, await sha256(utf8(opening.stream)));
  const usage = `usage-${account_id}-${period_start.slice(0, 10).replaceAll('-', '')}`;
  const isOpening = opening.type === 'UsagePeriodOpened' && opening.revision === 0 && opening.stream === usage;
  must(isOpening && invoice.stream === `invoices-${account_id}`, 'the file has the events of other streams');
  const { phase, ...recounted } = recount(period);
  const isFirst = previous_period_start === null && period.length === 1 && closing_proof === null;
  if (!isFirst) {
    must(phase === 'closed', 'the books of the period are not closed');
    const closing = await findInLog('the closing', closing_proof, closingHash, key);
    must(closing.note === note && closing.index < place.index, 'the closing does not come before the document');
  }
  const lines = isFirst ? [feeLine(opening, opening.data)] : linesOf(recounted);
  requireInvoice(invoice.data, lines, { account_id, covers: isFirst ? 'opening' : 'period', period_start, period_end });
  requireCreditNotes(documents, recounted.charges);
  const charges = recounted.charges.filter((/** @type {Json} */ { rate, isVoided }) => rate && !isVoided);
  const cents = document.data.total_cents ?? document.data.cents;
  const follows = `${name} (${(cents / 100).toFixed(2)} USD) follows from ${charges.length} charges of these downloads`;
  const stood = `stood in the log ${place.origin} of size ${place.size}; it was issued at ${document.metadata.time}`;
  return { ...place, name, cents, lines, charges, verdict: `${follows}, none left out, none twice, and ${stood}` };
};

const [fs, zlib] = ['fs', 'zlib'].map((name) => /** @type {Json} */ (globalThis).process?.getBuiltinModule(name));
if (fs && fs.realpathSync(process.argv[1] ?? '') === import.meta.filename) {
  const [, path, key, name] = /^(.+)\n--key\n(\S+)(\n--invoice\n\S+)?$/.exec(process.argv.slice(2).join('\n')) ?? [];
  try {
    if (!path || !key) throw new Error('write: node verifier.mjs PROOF --key KEY [--invoice NUMBER]');
    const file = path.endsWith('.gz') ? zlib.gunzipSync(fs.readFileSync(path)) : fs.readFileSync(path);
    console.log((await verify(new TextDecoder('utf-8', { fatal: true }).decode(file), key, name?.slice(11))).verdict);
  } catch (error) {
    console.error(`NOT VERIFIED: ${/** @type {Error} */ (error).message}`);
    process.exitCode = error instanceof NotVerified ? 1 : 2;
  }
}
