import type { Link } from '../../src/audit/rules/event-schemas.ts';

interface Content {
  stream: string;
  revision: number;
  data: object;
  id?: string;
  position?: bigint;
  metadata?: object;
}

/** An event as a rule gets it once its chain is checked, for a rule that is tested without a log. */
export function linkOf(
  type: string,
  {
    stream,
    revision,
    data,
    id = `event ${String(revision)}`,
    position = BigInt(revision),
    metadata: given = {},
  }: Content,
): Link {
  const metadata = { $correlationId: '', $causationId: '', hash: '', ...given };
  return { type, stream, revision, id, position, data, metadata } as unknown as Link;
}
