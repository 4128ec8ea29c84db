/**
 * Verifies an invoice or a credit note by itself: in Node and in a browser, offline. It shares no code with the service that
 * issued them. The file of a proof has the document's event, the events that it follows from, and proofs that their hashes stand
 * in a signed log. What is checked, in this order: the log (signature and inclusion), the hash chains, and the money, from the
 * first event of the period on, by the rules of docs/billing.md. A field that is not known here is refused.
 */

/** What is wrong, in a sentence for a person. */
export class NotVerified extends Error {
  override readonly name = 'NotVerified';
}

export interface Verified {
  /** A sentence for a person. */
  verdict: string;
  cents: number;
  /** Size of the signed log. */
  size: number;
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
// The fields of all events together: which of them an event has is checked before any of them is read.
type Fields = Record<string, any>;
interface StoredEvent {
  stream: string;
  revision: number;
  id: string;
  type: string;
  data: Fields;
  metadata: Fields;
}
interface Proof {
  format: string;
  /** From the invoice on, for a credit note; else the document alone. */
  documents: StoredEvent[];
  /** Hash of the event before the first of them, in hexadecimal. */
  previous_hash: string;
  /** The usage stream up to the closing of its books; of an opening invoice, its first event. */
  period: StoredEvent[];
  proofs: { document: string; closing: string | null };
}

const must: (isSo: boolean, what: string) => asserts isSo = (isSo, what) => {
  if (!isSo) throw new NotVerified(what);
};

// Bytes

type Bytes = Uint8Array<ArrayBuffer>;
const utf8 = (text: string): Bytes => new TextEncoder().encode(text);
const hexOf = (bytes: Bytes): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const joined = (...parts: readonly Bytes[]): Bytes => Uint8Array.from(parts.flatMap((part) => [...part]));
const sha256 = async (...parts: readonly Bytes[]): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', joined(...parts)));

function bytesOfHex(text: unknown, what: string): Bytes {
  must(typeof text === 'string' && /^([0-9a-f]{2})+$/.test(text), `${what} is not hexadecimal`);
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function bytesOfBase64(text: string, what: string): Bytes {
  must(/^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0, `${what} is not base64`);
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  must(btoa(String.fromCharCode(...bytes)) === text, `${what} is not base64`);
  return bytes;
}

/** RFC 8785, of parsed JSON. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each as Json)}`).join(',')}}`;
}
const isSame = (one: unknown, other: unknown): boolean => canonical(one as Json) === canonical(other as Json);

// The signed log

/** A C2SP checkpoint. @param key `name+key id+base64`, as the log publishes it */
async function openCheckpoint(note: string, key: string): Promise<{ size: number; root: Bytes }> {
  const [, name = '', id = '', base64 = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(key.trim()) ?? [];
  must(base64 !== '', 'the public key is not written as name+id+base64');
  const raw = bytesOfBase64(base64, 'the public key');
  must(raw[0] === 1 && raw.length === 33, 'the public key is not of Ed25519');
  must(hexOf(await sha256(utf8(`${name}\n`), raw)).startsWith(id), 'the public key does not have its id');
  const end = note.lastIndexOf('\n\n');
  must(end > 0 && note.endsWith('\n'), 'the checkpoint is no signed note');
  const text = note.slice(0, end + 1);
  const publicKey = await crypto.subtle.importKey('raw', raw.slice(1), 'Ed25519', false, ['verify']);
  let isSigned = false;
  for (const line of note.slice(end + 2, -1).split('\n')) {
    const [, by, signature = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    must(by !== undefined, 'the checkpoint has a line that is no signature');
    const bytes = bytesOfBase64(signature, 'a signature');
    if (by !== name || hexOf(bytes.slice(0, 4)) !== id) continue;
    isSigned ||= await crypto.subtle.verify('Ed25519', publicKey, bytes.slice(4), utf8(text));
  }
  must(isSigned, 'the checkpoint is not signed with this key');
  const [, origin, size, root = ''] = /^(\S+)\n([1-9]\d{0,14})\n(\S+)\n$/.exec(text) ?? [];
  must(origin === name, 'the checkpoint is not of the log of this key');
  return { size: Number(size), root: bytesOfBase64(root, 'the root') };
}

/** RFC 9162, section 2.1.3.2: that an event's hash is an entry of the signed log. @returns the size of the log */
async function requireLogged(name: string, proof: string | null, event: StoredEvent, key: string): Promise<number> {
  must(typeof proof === 'string', `${name} has no proof`);
  const at = proof.indexOf('\n\n');
  const [format, index = '', ...path] = proof.slice(0, Math.max(0, at)).split('\n');
  must(format === 'c2sp.org/tlog-proof@v1' && /^index (0|[1-9]\d{0,14})$/.test(index), `${name} has no tlog-proof`);
  const { size, root } = await openCheckpoint(proof.slice(at + 2), key);
  let [place, last] = [Number(index.slice(6)), size - 1];
  must(place <= last, `${name} lies beyond the signed log`);
  let hash = await sha256(Uint8Array.of(0), bytesOfHex(event.metadata['hash'], 'a hash'));
  for (const line of path) {
    const beside = bytesOfBase64(line, 'a hash');
    must(beside.length === 32 && last > 0, `${name} has a path that is too long`);
    if (place % 2 === 1 || place === last) {
      hash = await sha256(Uint8Array.of(1), beside, hash);
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else hash = await sha256(Uint8Array.of(1), hash, beside);
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  must(last === 0 && isSame([...hash], [...root]), `${name} is not in the signed log`);
  return size;
}

/** Each event is chained to the one before it. */
async function requireChain(
  events: readonly StoredEvent[],
  stream: string,
  from: number,
  previous: string,
): Promise<void> {
  let before = previous;
  for (const [index, event] of events.entries()) {
    const { id, type, data, metadata } = event;
    const revision = from + index;
    must(
      event.stream === stream && event.revision === revision,
      `revision ${String(revision)} of ${stream} is missing`,
    );
    const { hash, ...covered } = metadata;
    const link = canonical({ stream, revision, id, type, data, metadata: covered });
    const computed = hexOf(await sha256(bytesOfHex(before, 'a hash'), utf8(link)));
    must(computed === hash, `revision ${String(revision)} of ${stream} was changed, or what is before it`);
    before = computed;
  }
}

// The form of events

const plan =
  'plan downloads_limit metadata_limit overage_cents rate_version fee_cents hourly_limit max_keys? warning_percents service_failures_returned?';
const span = 'period_start period_end';
const fieldsOf: Readonly<Record<string, string>> = {
  event: 'stream revision id type data metadata',
  metadata: '$correlationId $causationId $traceparent? schema actor time hash',
  plan,
  terms: `${plan} overage_cap_cents? suspended? key_limits?`,
  proof: 'format documents previous_hash period proofs',
  UsagePeriodOpened: `account_id anchor_day ${span} previous_period_start terms`,
  PlanChanged: 'effective terms fee_difference_cents chosen_by_owner?',
  OverageCapSet: 'effective overage_cap_cents',
  OverageCapRemoved: 'effective',
  KeyLimitSet: 'key_id limit',
  KeyLimitRemoved: 'key_id',
  AccountSuspended: 'account_id',
  SuspensionLifted: 'plan fee_difference_cents',
  DownloadCreditDebited: 'token ordinal limited_key_id?',
  OverageCharged: 'token ordinal cents rate_cents rate_version limited_key_id?',
  DownloadQueued: 'token platform video_id url format quality audio_format item overage idempotency',
  DownloadConfirmed: 'token',
  DownloadVoided: 'token charge_event_id credits overage_downloads cents limited_key_id? promised?',
  MetadataCreditDebited: 'lookup_id ordinal platform video_id download_refusal?',
  MetadataCreditVoided: 'lookup_id charge_event_id promised?',
  UsageWarningReached: 'pool threshold_percent limited_key_id? used limit',
  UsageWarningMailed: 'warning_event_id pool threshold_percent limited_key_id? message_id',
  OverageCapReached: 'overage_cents overage_cap_cents',
  OverageCapMailed: 'cap_event_id message_id',
  ChargeWaived: 'reference token charge_event_id cents overage_downloads limited_key_id?',
  DownloadCreditReturned: 'token charge_event_id limited_key_id?',
  UsagePeriodEnded: `${span} next`,
  UsagePeriodClosed: `${span} downloads download_credits overage_downloads overage_cents metadata_credits fee_difference_cents`,
  InvoiceIssued: `number account_id covers ${span} currency lines total_cents mail_to?`,
  CreditNoteIssued: 'number account_id reference invoice_number line charges currency cents mail_to?',
  DocumentMailAsked: 'account_id document_event_id document_revision mail_to',
  DocumentMailed: 'account_id document_event_id person_id message_id',
};

/** That it has each of its fields, and no other. */
function requireFields(value: unknown, kind: string, where: string): void {
  const known = Object.hasOwn(fieldsOf, kind) ? fieldsOf[kind]?.split(' ') : undefined;
  must(known !== undefined, `${where}: ${kind} is not known`);
  must(typeof value === 'object' && value !== null && !Array.isArray(value), `${where} is no object`);
  const names = Object.keys(value);
  const surplus = names.find((name) => !known.includes(name) && !known.includes(`${name}?`));
  must(surplus === undefined, `${where} has the field ${String(surplus)}, which is not known`);
  const missing = known.find((name) => !name.endsWith('?') && !names.includes(name));
  must(missing === undefined, `${where} lacks the field ${String(missing)}`);
  for (const [name, each] of Object.entries(value))
    if (/cents$|_limit$|^ordinal$|^quantity$|^revision$|^number$|downloads$|credits$/.test(name) && each !== null)
      must(Number.isSafeInteger(each), `${where}: ${name} is no whole number`);
}

function requireForm(events: readonly StoredEvent[]): void {
  let time = '';
  for (const event of events) {
    const where = `revision ${String(event.revision)} of ${event.stream}`;
    requireFields(event, 'event', where);
    requireFields(event.metadata, 'metadata', where);
    requireFields(event.data, event.type, where);
    must(event.metadata['schema'] === 1 && event.metadata['time'] >= time, `${where}: its schema or its time`);
    time = event.metadata['time'];
  }
}

// The money of a period

interface Charge {
  id: string;
  revision: number;
  /** Null: a credit. */
  rate: { cents: number; version: string } | null;
  leftCents: number;
  leftCredits: number;
  isFinal: boolean;
  isVoided: boolean;
}
interface Waiver {
  charge: Charge;
  revision: number;
  cents: number;
}

/** A billing period, rated again from its first event. */
class Period {
  readonly charges = new Map<string, Charge>();
  readonly waivers: Waiver[] = [];
  /** Fees, as lines of the invoice. */
  readonly fees: Fields[] = [];
  readonly accepted = { downloads: 0, metadata: 0 };
  readonly credits = { downloads: 0, metadata: 0 };
  readonly totals = { overage_downloads: 0, overage_cents: 0, fee_difference_cents: 0 };
  readonly #due: Fields = {};
  #terms: Fields = {};
  #opened: Fields = {};
  #phase: 'absent' | 'open' | 'ended' | 'closed' = 'absent';
  #awaited: { token: string; overage: boolean } | undefined;
  #where = '';

  apply(event: StoredEvent): void {
    const { stream, revision, type, data } = event;
    this.#where = `revision ${String(revision)} of ${stream} (${type})`;
    const isQueued = type === 'DownloadQueued';
    this.#must(isQueued === (this.#awaited !== undefined), 'a charge and its DownloadQueued stand side by side');
    if (isQueued)
      this.#must(isSame({ token: data['token'], overage: data['overage'] }, this.#awaited), 'it is of another charge');
    this.#awaited = undefined;
    const step = this.#steps[type];
    if (step) {
      this.#must(step.in.includes(this.#phase), `it cannot come while the period is ${this.#phase}`);
      step.take(event, data);
    } else this.#must(isQueued || /^(UsageWarning|OverageCap)(Reached|Mailed)$/.test(type), 'it is of another stream');
  }

  get isClosed(): boolean {
    return this.#phase === 'closed';
  }
  get opened(): Fields {
    return this.#opened;
  }

  #must(isSo: boolean, what: string): asserts isSo {
    must(isSo, `${this.#where}: ${what}`);
  }

  readonly #steps: Readonly<Record<string, { in: string; take: (event: StoredEvent, data: Fields) => void }>> = {
    UsagePeriodOpened: { in: 'absent', take: (event, data) => this.#open(event, data) },
    PlanChanged: { in: 'open', take: (event, data) => this.#changePlan(event, data) },
    OverageCapSet: { in: 'open', take: (_, data) => this.#changeCap(data['overage_cap_cents'], data) },
    OverageCapRemoved: { in: 'open', take: (_, data) => this.#changeCap(null, data) },
    KeyLimitSet: { in: 'open', take: (_, data) => this.#limitKey({ [data['key_id']]: data['limit'] }, data) },
    KeyLimitRemoved: { in: 'open', take: (_, data) => this.#limitKey({}, data) },
    AccountSuspended: { in: 'open', take: () => void (this.#terms = { ...this.#terms, suspended: true }) },
    SuspensionLifted: { in: 'open', take: (event, data) => this.#lift(event, data) },
    DownloadCreditDebited: { in: 'open', take: (event, data) => this.#charge(event, 'downloads', data) },
    OverageCharged: { in: 'open', take: (event, data) => this.#charge(event, 'downloads', data) },
    MetadataCreditDebited: { in: 'open', take: (event, data) => this.#charge(event, 'metadata', data) },
    DownloadConfirmed: { in: 'open ended', take: (_, data) => void (this.#chargeOf(data, false).isFinal = true) },
    DownloadVoided: { in: 'open ended', take: (_, data) => this.#void(data) },
    MetadataCreditVoided: { in: 'open ended', take: (_, data) => this.#void(data) },
    ChargeWaived: { in: 'open ended', take: (event, data) => this.#waive(event, data) },
    DownloadCreditReturned: { in: 'open ended', take: (_, data) => this.#returnCredit(data) },
    UsagePeriodEnded: { in: 'open', take: (event, data) => this.#end(event, data) },
    UsagePeriodClosed: { in: 'ended', take: (_, data) => this.#close(data) },
  };

  #open({ stream }: StoredEvent, data: Fields): void {
    const { account_id: account, period_start: start, terms } = data;
    requireFields(terms, 'terms', this.#where);
    this.#must(stream === `usage-${String(account)}-${String(start).slice(0, 10).replaceAll('-', '')}`, 'its stream');
    [this.#terms, this.#opened, this.#phase] = [terms as Fields, data, 'open'];
  }

  /** The fee of this period so far. Nothing is due for a period that has begun while its account was suspended. */
  #feeCents(): number {
    const { suspended, fee_cents: cents } = this.#opened['terms'] as Fields;
    return (suspended === true ? 0 : (cents as number)) + this.totals.fee_difference_cents;
  }

  #raiseFee(event: StoredEvent, plan: string, due: number): void {
    const cents = event.data['fee_difference_cents'] as number;
    this.#must(cents === due, `its difference of the fee is ${String(cents)} in place of ${String(due)} cents`);
    this.totals.fee_difference_cents += cents;
    this.fees.push({ kind: 'fee_difference', plan, cents, event: sourceOf(event) });
  }

  #changePlan(event: StoredEvent, { effective, terms }: Fields): void {
    requireFields(terms, 'plan', this.#where);
    const isNow = effective === 'now';
    this.#must((isNow || effective === 'next_period') && this.#terms['suspended'] !== true, 'when it takes effect');
    this.#raiseFee(event, terms.plan, isNow ? Math.max(0, terms.fee_cents - this.#feeCents()) : 0);
    if (isNow) delete this.#due['plan'];
    else this.#due['plan'] = terms;
    if (isNow) this.#terms = { ...this.#terms, ...terms };
  }

  #changeCap(cents: number | null, { effective }: Fields): void {
    const change = { overage_cap_cents: cents };
    if (effective === 'now') delete this.#due['cap'];
    else this.#due['cap'] = change;
    if (effective === 'now') this.#terms = { ...this.#terms, ...change };
  }

  #limitKey(limit: Fields, { key_id: keyId }: Fields): void {
    const { key_limits: before = {}, ...others } = this.#terms;
    const { [keyId]: _replaced, ...kept } = before;
    const key_limits = { ...kept, ...limit };
    this.#terms = Object.keys(key_limits).length === 0 ? others : { ...others, key_limits };
  }

  #lift(event: StoredEvent, { plan }: Fields): void {
    const { suspended, ...others } = this.#terms;
    this.#must(suspended === true && plan === others['plan'], 'nothing is suspended on this plan');
    this.#terms = others;
    this.#raiseFee(event, plan, Math.max(0, others['fee_cents'] - this.#feeCents()));
  }

  /** A credit while there is one, then the price in force, up to the cap in force. */
  #charge({ id, revision, type, metadata }: StoredEvent, pool: 'downloads' | 'metadata', data: Fields): void {
    const { overage_cents: price, rate_version: version, overage_cap_cents: cap = null, suspended } = this.#terms;
    const { period_start: start, period_end: end } = this.#opened;
    this.#must(metadata['time'] >= start && metadata['time'] < end, 'its time is not within the period');
    this.#must(suspended !== true, 'the account is suspended');
    this.accepted[pool] += 1;
    this.#must(data['ordinal'] === this.accepted[pool], 'its ordinal is not the next one');
    const isOverage = type === 'OverageCharged';
    const hasCredit = this.credits[pool] < this.#terms[`${pool}_limit`];
    this.#must(isOverage !== hasCredit, hasCredit ? 'a credit was left' : 'no credit was left');
    const name = nameOf(data);
    this.#must(!this.charges.has(name), 'it was charged before');
    const rate = isOverage ? { cents: data['rate_cents'] as number, version: data['rate_version'] as string } : null;
    const left = { leftCents: rate?.cents ?? 0, leftCredits: rate ? 0 : 1 };
    this.charges.set(name, { id, revision, rate, ...left, isFinal: false, isVoided: false });
    if (pool === 'downloads') this.#awaited = { token: data['token'], overage: isOverage };
    if (!rate) return void (this.credits[pool] += 1);
    const isPrice = isSame([data['cents'], rate.cents, rate.version], [price, price, version]);
    this.#must(isPrice, `it is not at the price of the period's terms, ${String(price)} cents (${String(version)})`);
    this.totals.overage_downloads += 1;
    this.totals.overage_cents += rate.cents;
    this.#must(cap === null || this.totals.overage_cents <= cap, `it exceeds the cap of ${String(cap)} cents`);
  }

  /** @param isIdNamed whether the event names the charge by its id as well */
  #chargeOf(data: Fields, isIdNamed = true): Charge {
    const charge = this.charges.get(nameOf(data));
    this.#must(charge !== undefined && !charge.isVoided, 'nothing is left of its charge');
    this.#must(!isIdNamed || charge.id === data['charge_event_id'], 'it names another charge');
    return charge;
  }

  #void(data: Fields): void {
    const charge = this.#chargeOf(data);
    this.#must(!charge.isFinal, 'a client has the download');
    const { leftCents, leftCredits } = charge;
    const isOfDownload = 'token' in data;
    this.credits[isOfDownload ? 'downloads' : 'metadata'] -= leftCredits;
    Object.assign(charge, { isVoided: true, leftCents: 0, leftCredits: 0 });
    if (isOfDownload)
      this.#giveBack(data, { cents: leftCents, credits: leftCredits, overage_downloads: leftCents > 0 ? 1 : 0 });
  }

  #waive({ revision }: StoredEvent, data: Fields): void {
    const charge = this.#chargeOf(data);
    const cents = data['cents'] as number;
    this.#must(cents > 0 && cents <= charge.leftCents, 'it gives back more than is left of the charge');
    charge.leftCents -= cents;
    this.waivers.push({ charge, revision, cents });
    this.#giveBack(data, { cents, overage_downloads: charge.leftCents === 0 ? 1 : 0 });
  }

  #giveBack(data: Fields, due: Fields): void {
    const given = Object.fromEntries(Object.keys(due).map((name) => [name, data[name]]));
    this.#must(isSame(given, due), 'it gives back another amount');
    this.totals.overage_cents -= due['cents'];
    this.totals.overage_downloads -= due['overage_downloads'];
  }

  #returnCredit(data: Fields): void {
    const charge = this.#chargeOf(data);
    this.#must(charge.leftCredits === 1, 'no credit is left');
    charge.leftCredits = 0;
    this.credits.downloads -= 1;
  }

  #end(event: StoredEvent, { next, ...span }: Fields): void {
    const { period_start, period_end } = this.#opened;
    this.#must(isSame(span, { period_start, period_end }), 'it ends another period');
    this.#phase = 'ended';
    if (next === null) return;
    const terms = Object.assign({}, this.#terms, ...Object.values(this.#due));
    const { period_end: nextEnd } = next;
    this.#must(isSame(next, { period_start: period_end, period_end: nextEnd, terms }), 'the terms of the next period');
    this.fees.push(feeLine(event, next));
  }

  #close(data: Fields): void {
    const { period_start, period_end } = this.#opened;
    const credits = { download_credits: this.credits.downloads, metadata_credits: this.credits.metadata };
    const sums = { period_start, period_end, downloads: this.accepted.downloads, ...credits, ...this.totals };
    this.#must(isSame(data, sums), `its sums are not those of the events, ${canonical(sums)}`);
    this.#phase = 'closed';
  }
}

const nameOf = (data: Fields): string => String(data['token'] ?? data['lookup_id']);
const sourceOf = ({ stream, revision, id }: StoredEvent): Fields => ({ stream, revision, id });

function feeLine(event: StoredEvent, { terms, period_start, period_end }: Fields): Fields {
  const cents = terms.suspended === true ? 0 : terms.fee_cents;
  return { kind: 'fee', plan: terms.plan, period_start, period_end, cents, event: sourceOf(event) };
}

// Documents

interface Line {
  fields: Fields;
  /** Of the events that it counts. */
  revisions: readonly number[] | null;
}

/** The lines that an invoice of the period has: overage and waivers by price, then fees; none of nothing. */
function linesOf(period: Period, stream: string): Line[] {
  const kept = [...period.charges.values()].filter(({ rate, isVoided }) => rate !== null && !isVoided);
  const overage = kept.map((charge) => ({ charge, revision: charge.revision, cents: charge.rate?.cents ?? 0 }));
  const waived = period.waivers
    .filter(({ charge }) => kept.includes(charge))
    .map((each) => ({ ...each, cents: -each.cents }));
  const counted = Object.entries({ overage, waivers: waived }).flatMap(([kind, events]) =>
    [...Map.groupBy(events, ({ charge }) => canonical(charge.rate as unknown as Json)).values()].map((ofRate) => {
      const { cents: rate_cents, version: rate_version } = ofRate[0]?.charge.rate ?? {};
      const cents = ofRate.reduce((sum, each) => sum + each.cents, 0);
      const fields = { kind, rate_cents, rate_version, quantity: ofRate.length, cents, stream };
      return { fields, revisions: ofRate.map(({ revision }) => revision) };
    }),
  );
  const fees = ['fee_difference', 'fee'].flatMap((kind) => period.fees.filter((line) => line['kind'] === kind));
  return [...counted, ...fees.map((fields) => ({ fields, revisions: null }))].filter(
    ({ fields }) => fields['cents'] !== 0,
  );
}

function requireInvoice({ data }: StoredEvent, lines: readonly Line[], opened: Fields): void {
  const name = `invoice ${String(data['number'])}`;
  const { account_id, period_start, period_end } = opened;
  const about = [data['account_id'], data['period_start'], data['period_end'], data['currency']];
  must(isSame(about, [account_id, period_start, period_end, 'USD']), `${name} is of another period`);
  const found = data['lines'] as readonly Fields[];
  for (const [at, { fields, revisions }] of lines.entries()) {
    const { revisions: ranges, ...line } = found[at] ?? {};
    const where = `line ${String(at + 1)} of ${name}`;
    must(isSame(line, fields), `${where} is ${canonical(line)}; by the events it is ${canonical(fields)}`);
    must(isSame(ranges ?? null, revisions && rangesOf(revisions)), `${where} names other events`);
  }
  must(found.length === lines.length, `${name} has a line that no event asks for`);
  const total = lines.reduce((sum, { fields }) => sum + (fields['cents'] as number), 0);
  must(data['total_cents'] === total, `the lines of ${name} come to ${String(total)} cents`);
}

/** Revisions as a line writes them: first, last and the step between. */
function rangesOf(revisions: readonly number[]): number[][] {
  const ranges: [number, number, number][] = [];
  for (const revision of revisions) {
    const last = ranges.at(-1);
    if (last && (last[0] === last[1] || revision - last[1] === last[2]))
      last.splice(1, 2, revision, revision - last[1]);
    else ranges.push([revision, revision, 1]);
  }
  return ranges;
}

export async function verifyProof(proof: Proof, key: string): Promise<Verified> {
  requireFields(proof, 'proof', 'the file');
  must(proof.format === 'reeltally-proof/1', 'the file is of another format');
  const { documents, period: events, proofs } = proof;
  requireForm(documents);
  requireForm(events);
  const [invoice] = documents;
  const document = documents.at(-1);
  const [first] = events;
  const closing = events.at(-1);
  must(invoice?.type === 'InvoiceIssued' && document !== undefined, 'the file has no invoice');
  must(first?.type === 'UsagePeriodOpened' && closing !== undefined, 'the file has no billing period');
  const size = await requireLogged('the document', proofs.document, document, key);
  await requireChain(documents, invoice.stream, invoice.revision, proof.previous_hash);
  await requireChain(events, first.stream, 0, hexOf(await sha256(utf8(first.stream))));
  const period = new Period();
  for (const event of events) period.apply(event);
  must(period.isClosed, 'the books of the period are not closed');
  must(
    (await requireLogged('the closing', proofs.closing, closing, key)) === size,
    'its proofs are of two checkpoints',
  );
  requireInvoice(invoice, linesOf(period, first.stream), period.opened);
  const { number, total_cents: cents } = invoice.data;
  const verdict = `Invoice ${String(number)} of ${String(cents)} cents follows from the ${String(events.length)} events of its period.`;
  return { verdict, cents, size };
}
