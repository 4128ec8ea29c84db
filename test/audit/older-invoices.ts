import { bytesOf, type ForgedLog, textOf } from './forged-log.ts';

interface Line {
  kind: string;
  stream: string;
  revisions: [first: number, last: number, step: number][];
}
interface Waived {
  reference: string;
  charge_event_id: string;
  cents: number;
}

/**
 * Writes the invoices of a log as they were before all waivers of a rate became one line: with a line for each.
 * Credit notes name the first line, which stays. @returns how many were changed
 */
export function writeOlderInvoices(log: ForgedLog): number {
  let changed = 0;
  for (const row of log.rows) {
    if (row.type !== 'InvoiceIssued') continue;
    const data = JSON.parse(textOf(row.data)) as { lines: Line[] };
    const isWaivers = ({ kind }: Line) => kind === 'waivers';
    const waivers = data.lines
      .filter(isWaivers)
      .flatMap(({ stream, revisions }) => revisions.flatMap((range) => waiversIn(log, stream, range)))
      .sort((one, another) => one.event.revision - another.event.revision);
    if (waivers.length === 0) continue;
    const before = data.lines.filter(({ kind }) => kind === 'overage');
    const after = data.lines.filter((line) => line.kind !== 'overage' && !isWaivers(line));
    log.write(row.position, { data: bytesOf({ ...data, lines: [...before, ...waivers, ...after] }) });
    log.rechain(row.stream_key);
    changed += 1;
  }
  return changed;
}

function waiversIn(log: ForgedLog, stream: string, [first, last, step]: Line['revisions'][number]) {
  const isIn = (revision: number) => revision >= first && revision <= last && (revision - first) % step === 0;
  const events = log.rows.filter(({ name, revision }) => name === stream && isIn(revision));
  return events.map(({ revision, id, data, metadata }) => {
    const { reference, charge_event_id, cents } = JSON.parse(textOf(data)) as Waived;
    const { hash } = JSON.parse(textOf(metadata)) as { hash: string };
    return { kind: 'waiver', reference, charge_event_id, cents: -cents, event: { stream, revision, id, hash } };
  });
}
