// Verifies a proof of an invoice or a credit note offline: in Node, by `node verifier.mjs PROOF --key KEY`, and in a browser. It
// shares no code with the service and needs no package. docs/proofs.md says what it proves, and what it does not.
/** What is wrong, in a sentence, with its place. */
export class NotVerified extends Error {}
const must = (isSo, what) => {
  if (!isSo) throw new NotVerified(what);
};
const sorted = (parts) => Object.fromEntries(Object.entries(parts).sort(([one], [other]) => (one < other ? -1 : 1)));
/** RFC 8785. */
const canonical = (value) =>
  JSON.stringify(value, (_, each) => (each?.constructor === Object ? sorted(each) : each)) ?? 'missing';
const requireSame = (found, due, where) => {
  for (const name of Object.keys({ ...due, ...found })) {
    const [is, right] = [found[name], due[name]].map(canonical);
    must(is === right, `${where}: ${name} is ${is}; by the events it is ${right}`);
  }
};
const sum = (parts, field = 'cents') => parts.reduce((total, part) => total + part[field], 0);
// All that a proof may hold, by its fields. `#`: a whole number; `?`: it may be missing; `~`: it may be null; `:`: a part with fields
// of its own; `*`: a list of them; `%`: by names of their own. What is not here is refused: nobody would know what it means.
const span = 'period_start period_end';
const plan = `plan downloads_limit# metadata_limit# overage_cents#~ rate_version fee_cents# hourly_limit# max_keys#? warning_percents service_failures_returned?`;
const allForms = `
  proof = format documents:event* previous_hash period:event* document_proof closing_proof~; data =; source = stream revision# id hash
  event = stream revision# id type data:data metadata:metadata; actor = type id role? reason?; promised = process at; plan = ${plan}
  metadata = $correlationId $causationId $traceparent? schema# actor:actor time hash; next = ${span} terms:terms; range = 0# 1# 2#
  terms = ${plan} overage_cap_cents#~ suspended? key_limits?:limit%; limit = downloads#~ overage_cents#~ until~; KeyLimitRemoved = key_id
  line = kind cents# plan? period_start? period_end? event?:source rate_cents#? rate_version? quantity#? stream? revisions?:range*
  UsagePeriodOpened = account_id anchor_day# ${span} previous_period_start~ terms:terms; UsagePeriodEnded = ${span} next~:next; KeyLimitSet = key_id limit:limit
  PlanChanged = effective terms:plan fee_difference_cents# chosen_by_owner?; SuspensionLifted = plan fee_difference_cents#; AccountSuspended = account_id
  DownloadCreditDebited = token ordinal# limited_key_id?; OverageCharged = token ordinal# cents# rate_cents# rate_version limited_key_id?
  DownloadQueued = token platform video_id url format quality audio_format item# overage idempotency~:idempotency; idempotency = key_hash fingerprint
  DownloadConfirmed = token; DownloadVoided = token charge_event_id credits# overage_downloads# cents# limited_key_id? promised?:promised
  MetadataCreditDebited = lookup_id ordinal# platform video_id download_refusal?~; MetadataCreditVoided = lookup_id charge_event_id promised?:promised
  UsageWarningReached = pool threshold_percent# limited_key_id? used# limit#; OverageCapReached = overage_cents# overage_cap_cents#
  UsageWarningMailed = warning_event_id pool threshold_percent# limited_key_id? message_id; OverageCapMailed = cap_event_id message_id
  ChargeWaived = reference token charge_event_id cents# overage_downloads# limited_key_id?; DownloadCreditReturned = token charge_event_id limited_key_id?
  UsagePeriodClosed = ${span} downloads# download_credits# overage_downloads# overage_cents# metadata_credits# fee_difference_cents#; OverageCapRemoved = effective
  InvoiceIssued = number# account_id covers ${span} currency lines:line* total_cents# mail_to?; credited = token charge_event_id cents#
  CreditNoteIssued = number# account_id reference invoice_number# line# charges:credited* currency cents# mail_to?; OverageCapSet = effective overage_cap_cents#
  DocumentMailAsked = account_id document_event_id document_revision# mail_to; DocumentMailed = account_id document_event_id person_id message_id~`;
const fieldsOf = (fields) => [...fields.matchAll(/([$\w]+)(#?)(\??)(~?)(?::(\w+)([*%]?))?/g)];
const forms = new Map([...allForms.matchAll(/(\w+) =([^;\n]*)/g)].map(([, form, fields]) => [form, fieldsOf(fields)]));
const requireForm = (value, form, where) => {
  const fields = forms.get(form);
  must(fields && value instanceof Object, `${where}: ${form} is not known here`);
  for (const [, name, isNumber, isOptional, isNullable, part, many] of fields) {
    const field = value[name];
    if (field === undefined ? isOptional : field === null && isNullable) continue;
    const isScalar = [field].flat().every((each) => typeof each !== 'object' && each !== undefined);
    const isRight = isNumber ? Number.isSafeInteger(field) : part ? many !== '*' || Array.isArray(field) : isScalar;
    must(isRight, `${where}: ${name} is missing, or is wrong`);
    if (part) for (const each of many ? Object.values(field) : [field]) requireForm(each, part, `${where}, ${name}`);
  }
  const surplus = Object.keys(value).find((name) => !fields.some(([, known]) => known === name));
  must(form === 'data' || surplus === undefined, `${where}: the field ${surplus} is not known`);
};
const utf8 = (text) => new TextEncoder().encode(text);
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const sha256 = async (...parts) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.from(parts.flatMap((part) => [...part]))));
const bytesOfBase64 = (text, length) => {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  must(bytes.length === length && btoa(String.fromCharCode(...bytes)) === text, `${text} is not base64`);
  return bytes;
};
/** C2SP tlog-proof (RFC 9162, section 2.1.3.2), tlog-checkpoint and signed-note. Signatures with other keys say nothing. */
const findInLog = async (what, proof, hash, key) => {
  const [, name, id, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S{44})$/.exec(key.trim()) ?? [];
  must(name, 'the public key is missing, or is not written as name+id+base64');
  const raw = bytesOfBase64(base64, 33);
  const ownId = hexOf(await sha256(utf8(`${name}\n`), raw)).slice(0, 8);
  must(raw[0] === 1 && ownId === id, 'the public key is not one of Ed25519, or does not have its id');
  const proofForm = /^c2sp\.org\/tlog-proof@v1\nindex (0|[1-9]\d{0,14})\n((?:\S+\n)*)\n([^]*)$/;
  const [, index, path = '', note = ''] = proofForm.exec(proof) ?? [];
  const noteForm = /^((\S+)\n([1-9]\d{0,14})\n(\S{44})\n)\n((?:— \S+ \S+\n)+)$/;
  const [, text, origin, size, root, lines = ''] = noteForm.exec(note) ?? [];
  const named = lines.split('\n').filter((line) => line.startsWith(`— ${name} `));
  const signatures = named.map((line) => bytesOfBase64(line.slice(name.length + 3), 68));
  const signature = signatures.find((bytes) => hexOf(bytes).startsWith(id)) ?? new Uint8Array();
  const publicKey = await crypto.subtle.importKey('raw', raw.slice(1), 'Ed25519', false, ['verify']);
  const isSigned = await crypto.subtle.verify('Ed25519', publicKey, signature.slice(4), utf8(text));
  must(isSigned && origin === name, 'the checkpoint is not one of the log of this key, signed with it');
  let [place, last, node] = [Number(index), size - 1, await sha256([0], hash)];
  for (const line of path.split('\n').slice(0, -1)) {
    const beside = bytesOfBase64(line, 32);
    must(place <= last && last > 0, `${what} lies beyond the signed log, or its path is too long`);
    const isRight = place % 2 === 1 || place === last;
    node = await (isRight ? sha256([1], beside, node) : sha256([1], node, beside));
    while (isRight && place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  must(place + last === 0 && hexOf(node) === hexOf(bytesOfBase64(root, 32)), `${what} is not in the signed log`);
  return { origin, size, index: Number(index), note };
};
/** Each event is chained to the one before it. */
const requireChain = async (events, before) => {
  const [{ stream, revision: first }] = events;
  must(first > 0 || hexOf(before) === hexOf(await sha256(utf8(stream))), `${stream} begins with another hash`);
  let hash = before;
  for (const [at, event] of events.entries()) {
    const { type, data, metadata } = event;
    const where = `revision ${first + at} of ${stream}`;
    must(event.stream === stream && event.revision === first + at, `${where} is missing`);
    const isLater = metadata.schema === 1 && !(metadata.time < events[at - 1]?.metadata.time);
    must(isLater, `${where} is older than the one before it, or of another schema`);
    hash = await sha256(hash, utf8(canonical({ ...event, metadata: { ...metadata, hash: undefined } })));
    must(hexOf(hash) === metadata.hash, `${where} was changed, or what is before it`);
    requireForm(data, type, where);
  }
  return hash;
};
const isOfService = ({ metadata: { actor } }) => actor.type === 'system' && actor.id === 'service-failures';
/** Staff give back, and the service for a failure of its own. */
const mayGive = (event, token) =>
  isOfService(event) ? event.data.reference === `service-failure-${token}` : event.metadata.actor.type === 'staff';
const feeOf = ({ suspended, fee_cents }) => (suspended ? 0 : fee_cents);
const feeLine = (kind, { plan }, cents, { stream, revision, id, metadata: { hash } }, period) => {
  return { kind, plan, ...period, cents, event: { stream, revision, id, hash } };
};
const isCharge = /(Debited|Charged)$/;
const isChange = /(PlanChanged|CapSet|CapRemoved|AccountSuspended|SuspensionLifted)$/;
const isLater = /(Confirmed|Voided|Returned|Waived|Mailed|PeriodClosed)$/;
const isOther = /^(DownloadQueued|(UsageWarning|OverageCap)(Reached|Mailed)|KeyLimit(Set|Removed))$/;
/** Rates a period again by the rules of docs/billing.md. */
const recount = ([first, ...events]) => {
  const { anchor_day, period_start, period_end, terms: opening } = first.data;
  let [phase, terms, coming, queued] = ['open', opening, opening, ''];
  const openingFee = feeLine('fee', opening, feeOf(opening), first, { period_start, period_end });
  const [charges, waivers, fees] = [new Map(), new Map(), events.length === 0 ? [openingFee] : []];
  const [accepted, credits] = [0, 0].map(() => ({ downloads: 0, metadata: 0 }));
  const sums = { overage_downloads: 0, overage_cents: 0, fee_difference_cents: 0 };
  for (const event of events) {
    const { type, metadata, data } = event;
    const { token, lookup_id: name = token, ordinal, cents = 0, effective = 'now', reference, next } = data;
    const where = `revision ${event.revision} of ${first.stream} (${type})`;
    const check = (isSo, what) => must(isSo, `${where}: ${what}`);
    const [of, pool] = [charges.get(name), token ? 'downloads' : 'metadata'];
    const isInPhase = phase === 'open' ? type !== 'UsagePeriodClosed' : phase === 'ended' && isLater.test(type);
    const isInTime = metadata.time < period_end || !(isCharge.test(type) || isChange.test(type));
    check(isInPhase && isInTime && metadata.time >= period_start, `it comes at ${metadata.time}: period is ${phase}`);
    const download = type === 'DownloadQueued' ? canonical([token, data.overage]) : '';
    check(download === queued, 'a charge and its download are not side by side');
    queued = isCharge.test(type) && token ? canonical([token, type === 'OverageCharged']) : '';
    if (isCharge.test(type)) {
      const { overage_cents: rate_cents, rate_version, overage_cap_cents: cap, [`${pool}_limit`]: limit } = terms;
      const rate = type === 'OverageCharged' && { rate_cents, rate_version };
      const left = limit - credits[pool];
      accepted[pool] += 1;
      check(!of && !terms.suspended, of ? `${name} is charged twice` : 'the account is suspended');
      check(ordinal === accepted[pool], `it is number ${ordinal}, not ${accepted[pool]}: a charge is left out`);
      check(rate ? left <= 0 : left > 0, `it is charged as ${type}, and ${left} of ${limit} credits are left`);
      if (rate) requireSame(data, { ...data, ...rate, cents: rate_cents }, where);
      charges.set(name, { kind: 'overage', event, rate, cents, credits: rate ? 0 : 1, left: cents });
      credits[pool] += rate ? 0 : 1;
      sums.overage_downloads += rate ? 1 : 0;
      sums.overage_cents += cents;
      check(!rate || sums.overage_cents <= (cap ?? Infinity), `it exceeds the overage cap of ${cap} cents`);
    } else if (isChange.test(type)) {
      const cap = type.startsWith('OverageCap') && { overage_cap_cents: data.overage_cap_cents ?? null };
      const change = cap || (data.terms ?? { suspended: type === 'AccountSuspended' || undefined });
      const [isNow, isFree] = [effective === 'now', cap || type === 'SuspensionLifted' || !terms.suspended];
      check(isFree && (isNow || effective === 'next_period'), 'the account is suspended');
      if (isNow) terms = { ...terms, ...change };
      coming = { ...coming, ...change };
      if (data.fee_difference_cents === undefined) continue;
      // Nothing is prorated: what lies above the fee of the period so far is due.
      const rise = isNow ? Math.max(0, terms.fee_cents - feeOf(opening) - sums.fee_difference_cents) : 0;
      check(data.fee_difference_cents === rise, `the fee rises by ${data.fee_difference_cents} cents, not by ${rise}`);
      sums.fee_difference_cents += rise;
      fees.push(feeLine('fee_difference', terms, rise, event));
    } else if (type === 'DownloadConfirmed') {
      check(of && !of.isVoided, 'its charge is not there');
      of.isConfirmed = true;
    } else if (/(Voided|Returned|Waived)$/.test(type)) {
      const [isVoid, isWaiver] = [type.endsWith('Voided'), type === 'ChargeWaived'];
      const { charge_event_id, credits: given = isWaiver ? 0 : 1, overage_downloads: downloads = 0 } = data;
      check(of && !of.isVoided && charge_event_id === of.event.id, 'its charge is not there');
      check(cents <= of.left && given <= of.credits, `only ${of.left} cents and ${of.credits} credits are left`);
      const isAll = cents === of.left && given === of.credits;
      const isReturned = isOfService(event) && isAll && terms.service_failures_returned !== false;
      const isWaived = cents > 0 && mayGive(event, token) && (isReturned || !isOfService(event));
      check(isWaiver ? isWaived : isVoid ? isAll && !of.isConfirmed : isReturned, 'it may not give this back');
      check(downloads === (cents > 0 && isAll ? 1 : 0), `it gives back ${downloads} downloads`);
      check(!waivers.has(`${reference} ${token}`), `it repeats ${reference}`);
      if (isWaiver) waivers.set(`${reference} ${token}`, { kind: 'waivers', of, event, rate: of.rate, cents: -cents });
      Object.assign(of, { left: of.left - cents, credits: of.credits - given, isVoided: isVoid });
      credits[pool] -= given;
      sums.overage_downloads -= downloads;
      sums.overage_cents -= cents;
    } else if (type === 'UsagePeriodEnded') {
      const [year, month] = [Number(period_end.slice(0, 4)), Number(period_end.slice(5, 7))];
      const day = Math.min(anchor_day, new Date(Date.UTC(year, month + 1, 0)).getUTCDate());
      const following = { period_start: period_end, period_end: new Date(Date.UTC(year, month, day)).toISOString() };
      const due = { ...following, terms: { ...coming, key_limits: next?.terms.key_limits } };
      requireSame(data, { period_start, period_end, next: next && due }, where);
      check(!next || metadata.time >= period_end, 'it comes before the end of the period');
      if (next) fees.push(feeLine('fee', coming, feeOf(coming), event, following));
      phase = 'ended';
    } else if (type === 'UsagePeriodClosed') {
      const held = { download_credits: credits.downloads, metadata_credits: credits.metadata };
      requireSame(data, { period_start, period_end, downloads: accepted.downloads, ...held, ...sums }, where);
      phase = 'closed';
    } else check(isOther.test(type), 'it is of another stream');
  }
  const billed = [...charges.values()].filter(({ rate, isVoided }) => rate && !isVoided);
  const waived = [...waivers.values()].filter(({ of }) => !of.isVoided);
  const counted = Map.groupBy([...billed, ...waived], ({ kind, rate }) => canonical([kind, rate]));
  const lines = [...counted.values()].map((group) => {
    const [{ kind, rate, event }, revisions] = [group[0], group.map((each) => each.event.revision)];
    return { kind, ...rate, quantity: group.length, cents: sum(group), stream: event.stream, revisions };
  });
  return { phase, charges: billed, lines: [...lines, ...fees].filter(({ cents }) => cents !== 0) };
};
/** A range `[1, 5, 2]` is 1, 3 and 5. A line that would need too many ranges for one event has one from its first to its last. */
const expand = (ranges, due = []) => {
  if (canonical(ranges) === canonical([[due[0], due.at(-1), 1]])) return due;
  const revisions = [];
  for (const [first, last, step] of ranges)
    for (let each = first; each <= last && revisions.length <= due.length; each += step) revisions.push(each);
  return revisions;
};
/** Credit notes stay within the invoice, its lines and their charges. */
const requireCreditNotes = (notes, lines, billed) => {
  const isOf = (line, { rate }) => line.rate_cents === rate.rate_cents && line.rate_version === rate.rate_version;
  const named = lines.map((line) => billed.filter((charge) => line.kind === 'overage' && isOf(line, charge)));
  const left = lines.map(({ kind, cents }, at) => (kind === 'overage' ? sum(named[at], 'left') : cents));
  const given = new Set();
  for (const note of notes) {
    const { number, line, reference, charges, cents, currency } = note.data;
    const check = (isSo, what) => must(isSo, `credit note ${number} ${what}`);
    const tokens = charges.map(({ token }) => token).join(' ');
    check(named[line - 1] && currency === 'USD' && mayGive(note, tokens), 'is about no line, or not by staff');
    check(charges.length === 0 || sum(charges) === cents, 'is not the sum of its charges');
    for (const part of charges.length > 0 ? charges : [{ cents }]) {
      const charge = named[line - 1].find(({ event }) => event.id === part.charge_event_id) ?? { left: cents };
      check(part.token === charge.event?.data.token, 'names a charge that is not one of its line');
      check(!given.has(`${reference} ${part.token}`), `gives back for ${reference} twice`);
      given.add(`${reference} ${part.token}`);
      charge.left -= part.cents;
      check(part.cents > 0 && charge.left >= 0, 'gives back more than is left');
    }
    left[line - 1] -= cents;
    check(left[line - 1] >= 0, 'gives back more than is left of its line');
  }
};

/** Verifies the text of a proof with the log's key; `wanted`: the number of the document, if it is known. */
export const verify = async (text, key, wanted) => {
  if (!text.endsWith('}\n')) throw new SyntaxError('the file is truncated, or is no proof');
  const proof = JSON.parse(text);
  must(proof?.format === 'reeltally-invoice-proof/1', 'the file is no proof of a kind that is known here');
  requireForm(proof, 'proof', 'the file');
  must(text === `${canonical(proof)}\n`, 'the file was changed: it is not written as RFC 8785 says');
  const { documents, period, document_proof, closing_proof, previous_hash } = proof;
  const [invoice, document, opening] = [documents[0], documents.at(-1), period[0]];
  const { account_id, period_start, period_end, previous_period_start } = opening.data;
  const groups = account_id.slice(4).replaceAll(/.{4}(?=.)/g, '$&-');
  const name = `${document.type === 'InvoiceIssued' ? 'INV' : 'CN'}-${groups.toUpperCase()}-${document.data.number}`;
  must(!wanted || wanted === name, `the file is a proof of ${name}, not of ${wanted}`);
  const notes = documents.filter(({ data }) => data.invoice_number === invoice.data.number);
  must(invoice.type === 'InvoiceIssued' && document === (notes.at(-1) ?? invoice), `${name} is not about the invoice`);
  const hash = await requireChain(documents, bytesOfBase64(previous_hash, 32));
  const { origin, size, index, note } = await findInLog('the document', document_proof, hash, key);
  const closingHash = await requireChain(period, await sha256(utf8(opening.stream)));
  const usage = `usage-${account_id}-${period_start.slice(0, 10).replaceAll('-', '')}`;
  const isOpening = opening.type === 'UsagePeriodOpened' && opening.revision === 0 && opening.stream === usage;
  must(isOpening && invoice.stream === `invoices-${account_id}`, 'the file has the events of other streams');
  const { phase, charges, lines } = recount(period);
  const isFirst = previous_period_start === null && period.length === 1 && closing_proof === null;
  if (!isFirst) {
    must(phase === 'closed', 'the books of the period are not closed');
    const closing = await findInLog('the closing', closing_proof, closingHash, key);
    must(closing.note === note && closing.index < index, 'the closing does not come before the document');
  }
  for (let at = 0; at < Math.max(invoice.data.lines.length, lines.length); at += 1) {
    const [line, due] = [invoice.data.lines[at] ?? {}, { kind: undefined, ...lines[at] }];
    const revisions = line.revisions && expand(line.revisions, due.revisions);
    requireSame({ ...line, revisions }, due, `line ${at + 1} of the invoice (${line.kind})`);
  }
  const about = { account_id, covers: isFirst ? 'opening' : 'period', period_start, period_end, currency: 'USD' };
  requireSame(invoice.data, { ...invoice.data, ...about, total_cents: sum(lines) }, 'the invoice');
  requireCreditNotes(notes, invoice.data.lines, charges);
  const cents = document.data.total_cents ?? document.data.cents;
  const follows = `${name} (${(cents / 100).toFixed(2)} USD) follows from ${charges.length} charges of these downloads`;
  const stood = `stood in the log ${origin} of size ${size}; it was issued at ${document.metadata.time}`;
  return { name, cents, charges: charges.length, verdict: `${follows}, none left out, none twice, and ${stood}` };
};
const [fs, zlib] = ['fs', 'zlib'].map((name) => globalThis.process?.getBuiltinModule(name));
if (fs && fs.realpathSync(process.argv[1] ?? '') === import.meta.filename) {
  const [, path, key, name] = /^(.+)\n--key\n(\S+)(\n--invoice\n\S+)?$/.exec(process.argv.slice(2).join('\n')) ?? [];
  try {
    if (!path || !key) throw new Error('write: node verifier.mjs PROOF --key KEY [--invoice NUMBER]');
    const file = path.endsWith('.gz') ? zlib.gunzipSync(fs.readFileSync(path)) : fs.readFileSync(path);
    console.log((await verify(new TextDecoder('utf-8', { fatal: true }).decode(file), key, name?.slice(11))).verdict);
  } catch (error) {
    console.error(`NOT VERIFIED: ${error.message}`);
    process.exitCode = error instanceof NotVerified ? 1 : 2;
  }
}
