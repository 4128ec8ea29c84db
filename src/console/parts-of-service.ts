import { type Html, html } from '../documents/html.ts';
import { type Server, servers, type ServiceParts } from '../ports/service-parts.ts';
import { listNote, listTable, rowName, tag } from './parts.ts';

/** What the service is made of, and which part of it does not work: one text for all pages that say so. */

export interface PartOfService {
  part: string;
  /** `ok`, or why it does not work. */
  state: string;
  /** For how long it has been away, as far as this process has noticed it. */
  away_seconds: number | null;
  /** What becomes of the service meanwhile. */
  meanwhile: string | null;
}

export interface PartsDependencies {
  serviceParts: ServiceParts;
  /** The parts of `/readyz`, each `ok` or the reason why it is not. */
  readiness: () => Promise<{ parts: Readonly<Record<string, string>> }>;
}

const isServer = (name: string): name is Server => name in servers;

/** The servers, and what else this process waits for. A clock that is shifted on purpose is no fault. */
export async function partsOfService({ readiness, serviceParts }: PartsDependencies): Promise<PartOfService[]> {
  const { clock_offset_seconds: _shifted, ...parts } = (await readiness()).parts;
  const away = serviceParts.awaySeconds();
  return Object.entries(parts).map(([part, state]) => {
    const isOk = state === 'ok';
    if (!isServer(part)) return { part: part.replaceAll('_', ' '), state, away_seconds: null, meanwhile: null };
    const { name, whileAway } = servers[part];
    return {
      part: name,
      state,
      away_seconds: isOk ? null : (away.get(part) ?? null),
      meanwhile: isOk ? null : whileAway,
    };
  });
}

const isAtFault = ({ state }: PartOfService): boolean => state !== 'ok';

const sinceText = (seconds: number): string =>
  seconds < 120 ? `for ${String(Math.round(seconds))} s` : `for ${String(Math.round(seconds / 60))} minutes`;

/** For a page that cannot be shown, which anybody may see: the servers that are away, without the reasons that operators get. */
export function serversAtFault(parts: readonly PartOfService[]): Html | undefined {
  const away = parts.filter((part) => isAtFault(part) && part.meanwhile !== null);
  if (away.length === 0) return undefined;
  return html`<ul>
    ${away.map(
      ({ part, away_seconds: seconds, meanwhile }) =>
        html`<li>
          <strong>${part}</strong> is away${seconds !== null && html` (${sinceText(seconds)})`}. ${meanwhile ?? ''}
        </li>`,
    )}
  </ul>`;
}

/** For staff: what is not as it should be. Only without a server does work wait. */
export function partsAtFault(parts: readonly PartOfService[]): Html | undefined {
  const atFault = parts.filter(isAtFault);
  if (atFault.length === 0) return undefined;
  return listNote(
    atFault.some(({ meanwhile }) => meanwhile !== null) ? 'bad' : 'warn',
    atFault.map(
      ({ part, state, away_seconds: seconds, meanwhile }) =>
        html`<strong>${part}</strong>: ${state}${seconds !== null && html` (${sinceText(seconds)})`}. ${meanwhile ?? ''}`,
    ),
  );
}

export const partsTable = (parts: readonly PartOfService[]): Html =>
  listTable('Parts of the service', parts, {
    Part: rowName(({ part }) => part),
    // A reason may be long.
    State: (row) => (isAtFault(row) ? html`<strong>${row.state}</strong>` : tag(row.state, 'good')),
    Since: ({ away_seconds: seconds }) => seconds !== null && sinceText(seconds),
    Meanwhile: ({ meanwhile }) => meanwhile ?? '',
  });
