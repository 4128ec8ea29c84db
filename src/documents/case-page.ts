import { formatCents } from '../domain/cents.ts';
import { columnTable, type Content, Html, html, numberCell } from './html.ts';
import type { BilledTo } from './invoice-document.ts';
import { invoicePageStyle } from './invoice-page-style.ts';

/** A stored event, of which the page shows what it knows. */
interface CaseEvent {
  stream: string;
  revision: number;
  type: string;
  data: unknown;
  metadata: unknown;
}

export interface Case {
  /** Number of the document. */
  number: string;
  proof: { documents: readonly CaseEvent[]; period: readonly CaseEvent[] };
  /** The proof file, compressed and in base64. */
  compressed: string;
  /** Text of the verifier. */
  verifier: string;
  /** @returns the digest of a text in base64 */
  sha256: (text: string) => string;
  /** Names and addresses; undefined: they are not asked for. */
  parties: { issuer: Omit<BilledTo, 'email'>; billed_to: BilledTo } | undefined;
}

/** More of them are in the proof, and nobody reads them on a page. */
const mostRows = 500;

interface LineData {
  kind: string;
  plan?: string;
  quantity?: number;
  rate_cents?: number;
  cents: number;
}

interface Shown {
  at: string;
  event: CaseEvent;
  data: Readonly<Record<string, unknown>>;
}

const shown = (event: CaseEvent): Shown => ({
  at: (event.metadata as { time: string }).time,
  event,
  data: event.data as Shown['data'],
});

/** What events say is of any length, and nothing may be wider than the sheet. */
const caseStyle = `
  input { width: 100%; }
  .items code { white-space: normal; }
`;

/** What this page does in a browser: it verifies its own proof, with a key that it does not have. */
const inBrowser = `
const form = document.querySelector('form');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const said = document.querySelector('output');
  const bytes = Uint8Array.from(atob(document.querySelector('#proof').textContent.trim()), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await new Response(stream).arrayBuffer());
    said.textContent = 'Verified: ' + (await verify(text, form.elements.key.value, form.dataset.number)).verdict;
  } catch (error) {
    said.textContent = 'NOT VERIFIED: ' + error.message;
  }
});
`;

/**
 * All about an invoice or a credit note in one page: what it says, what it follows from, the proof, and the verifier, which runs
 * in the reader's browser. The page has nothing from elsewhere, and its policy lets nothing in.
 */
export function casePage({ number, proof, compressed, verifier, sha256, parties }: Case): string {
  const script = `${verifier}${inBrowser}`;
  const style = `${invoicePageStyle}${caseStyle}`;
  const policy = `default-src 'none'; style-src 'sha256-${sha256(style)}'; script-src 'sha256-${sha256(script)}'`;
  const [document] = proof.documents.slice(-1).map(shown);
  const [invoice] = proof.documents.map(shown);
  const period = proof.period.map(shown);
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width" />
        <title>Case file of ${number}</title>
        ${new Html(`<style>${style}</style>`)}
      </head>
      <body>
        <main>
          <header>
            <h1>Case file of ${number}</h1>
            <div>issued at ${document?.at}</div>
          </header>
          ${parties && partiesOf(parties)}
          <h2>Verify</h2>
          <p>
            This page proves nothing until its proof is verified with the public key of the log, which you have from
            elsewhere. Nothing leaves this page. Whoever gave it to you could have changed the page itself: to be
            certain, run a verifier that you trust. The SHA-256 of the one inside is
            <code>${Buffer.from(sha256(verifier), 'base64').toString('hex')}</code>.
          </p>
          <form data-number="${number}">
            <label>Public key of the log <input name="key" size="90" required autocomplete="off" /></label>
            <button>Verify</button>
          </form>
          <p><output>Not verified yet.</output></p>
          <h2>The invoice</h2>
          ${columnTable((invoice?.data['lines'] ?? []) as readonly LineData[], {
            Line: ({ kind }) => kind,
            Plan: ({ plan = '' }) => plan,
            Quantity: numberCell(({ quantity = '' }) => String(quantity)),
            'Unit price': numberCell(({ rate_cents: cents }) => (cents === undefined ? '' : formatCents(cents))),
            Amount: numberCell(({ cents }) => formatCents(cents)),
          })}
          <p>Total ${formatCents((invoice?.data['total_cents'] ?? 0) as number)}</p>
          ${document?.event.type === 'CreditNoteIssued' && creditNote(document)}
          ${section('Timeline', [...period, ...proof.documents.map(shown)].filter(isOfTimeline))}
          ${section('Money', period.filter(isOfMoney))} ${section('Events', period)}
        </main>
        ${new Html(`<script id="proof" type="application/gzip">${compressed}</script>`)}
        ${new Html(`<script type="module">${script}</script>`)}
      </body>
    </html>`;
  return `${page.text}\n`;
}

const creditNote = ({ data: { cents, line } }: Shown): Html =>
  html`<h2>The credit note</h2>
    <p>Gives back ${formatCents(cents as number)} of line ${String(line)} of the invoice</p>`;

const isOfTimeline = ({ event: { type } }: Shown): boolean =>
  /^(UsagePeriod|PlanChanged|OverageCap|AccountSuspended|SuspensionLifted|InvoiceIssued|CreditNoteIssued)/.test(type);
const isOfMoney = ({ event: { type } }: Shown): boolean =>
  /^(OverageCharged|DownloadVoided|ChargeWaived)$/.test(type) || type === 'UsagePeriodClosed';

function section(title: string, events: readonly Shown[]): Html {
  const left = events.length - mostRows;
  return html`<section class="items">
    <h2>${title}</h2>
    ${columnTable(events.slice(0, mostRows), {
      At: ({ at }) => at,
      Event: ({ event: { stream, revision, type } }) =>
        html`${type}
          <div class="detail">${revision} of ${stream}</div>`,
      Says: ({ data }) => html`<code>${facts(data)}</code>`,
    })}
    ${left > 0 && html`<p>${left} more are in the proof.</p>`}
  </section>`;
}

/** Addresses of videos and people are in the proof alone, where the chain of hashes needs them. */
const personal = /^(url|video_id|mail_to|person_id|personal)$/;

const facts = (data: Shown['data']): Content =>
  Object.entries(data)
    .filter(([name, value]) => !personal.test(name) && typeof value !== 'object')
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ');

const partiesOf = ({ issuer, billed_to: billedTo }: NonNullable<Case['parties']>): Html =>
  html`<dl>
    <dt>Issuer</dt>
    <dd>${linesOf(issuer)}</dd>
    <dt>Billed to</dt>
    <dd>${linesOf(billedTo)}</dd>
  </dl>`;

const linesOf = ({ name, address_lines: lines, country }: Omit<BilledTo, 'email'>): Html[] =>
  [name, ...lines, country].filter((line) => line !== null).map((line) => html`<div>${line}</div>`);
