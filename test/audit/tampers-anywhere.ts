import { canonicalJson } from '../commands/unbroken-chain.ts';
import { bytesOf, type ForgedLog, type Row, textOf } from './forged-log.ts';
import type { Random } from './random.ts';

/** Changes something in a log. @returns what it was; undefined where there was nothing to change */
type Tamper = (log: ForgedLog, random: Random) => string | undefined;

/** An amount, a count or an ordinal of an event's data, one more or less. */
function withAnotherNumber({ data }: Row, random: Random): Uint8Array | undefined {
  const fields = JSON.parse(textOf(data)) as Record<string, unknown>;
  const names = Object.keys(fields).filter((name) => typeof fields[name] === 'number');
  if (names.length === 0) return undefined;
  const name = random.pick(names);
  return bytesOf({ ...fields, [name]: (fields[name] as number) + random.pick([-1, 1]) });
}

function flipBit(bytes: Uint8Array, random: Random): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  const at = random.below(flipped.length);
  flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8));
  return flipped;
}

function anotherCharacter(text: string, random: Random): string {
  const at = random.below(text.length);
  const characters = Array.from('0123456789abcdefACKx-_').filter((character) => character !== text[at]);
  return text.slice(0, at) + random.pick(characters) + text.slice(at + 1);
}

/** True if a reader would see any difference. */
function differs(one: Uint8Array, other: Uint8Array): boolean {
  try {
    return canonicalJson(JSON.parse(textOf(one))) !== canonicalJson(JSON.parse(textOf(other)));
  } catch {
    return true;
  }
}

const flip =
  (column: 'data' | 'metadata'): Tamper =>
  (log, random) => {
    const row = random.pick(log.rows);
    const flipped = flipBit(row[column], random);
    if (!differs(row[column], flipped)) return undefined;
    log.write(row.position, { [column]: flipped });
    return `a bit of ${column}`;
  };

const anothers =
  (column: 'id' | 'type'): Tamper =>
  (log, random) => {
    const row = random.pick(log.rows);
    log.write(row.position, { [column]: anotherCharacter(row[column], random) });
    return `a character of the ${column}`;
  };

/** A change by itself, and with the chain made right again. @param change gives the event that it is about */
const twoWays = (kind: string, change: (log: ForgedLog, random: Random) => Row | undefined): readonly Tamper[] => [
  (log, random) => change(log, random) && kind,
  (log, random) => {
    const changed = change(log, random);
    if (changed) log.rechain(changed.stream_key);
    return changed && `${kind}, and the chain made right again`;
  },
];

function swap(log: ForgedLog, one: Row, other: Row): void {
  for (const [to, { id, type, data, metadata }] of [
    [one, other],
    [other, one],
  ] as const)
    log.write(to.position, { id, type, data, metadata });
}

/** Events of streams whose ends Postgres knows: of the others a forgery with a right chain is one that nobody can find. */
const knownRows = (log: ForgedLog): readonly Row[] =>
  log.rows.filter(({ name }) => !['issuer', 'audit-acknowledgements', 'tree-heads'].includes(name));

export const anywhere: readonly Tamper[] = [
  ...twoWays('a number', (log, random) => {
    const row = random.pick(knownRows(log));
    const data = withAnotherNumber(row, random);
    if (!data) return undefined;
    log.write(row.position, { data });
    return row;
  }),
  flip('data'),
  flip('metadata'),
  anothers('id'),
  anothers('type'),
  (log, random) => {
    const { stream_key: key, name } = random.pick(log.rows);
    const other = anotherCharacter(name, random);
    if (log.rows.some((row) => row.name === other)) return undefined;
    log.run('update streams set name = ? where stream_key = ?', other, key);
    return "a character of the stream's name";
  },
  (log, random) => {
    const [one, other] = [random.pick(log.rows), random.pick(log.rows)];
    if (one === other) return undefined;
    swap(log, one, other);
    return 'two events swapped';
  },
  (log, random) => {
    const one = random.pick(log.rows);
    const other = log.ofStream(one.stream_key)[one.revision + 1];
    if (!other) return undefined;
    swap(log, one, other);
    log.rechain(one.stream_key);
    return 'two neighbours swapped, and the chain made right again';
  },
  (log, random) => {
    const { position, stream_key: key } = random.pick(knownRows(log));
    log.run('delete from events where position = ?', position);
    log.setEnd(key);
    return 'an event deleted';
  },
  (log, random) => {
    const { stream_key: key, revision } = random.pick(knownRows(log));
    log.run('delete from events where stream_key = ? and revision >= ?', key, revision);
    log.setEnd(key);
    return 'a tail cut';
  },
  (log, random) => {
    log.removeStream(random.pick(knownRows(log)).stream_key);
    return 'a stream deleted';
  },
  ...twoWays('an event inserted', (log, random) => {
    const row = random.pick(knownRows(log).slice(0, -1));
    const { data, type } = random.pick(log.rows.filter(({ name }) => name.split('-')[0] === row.name.split('-')[0]));
    log.insert(row, { id: random.uuid(), type, data, metadata: row.metadata });
    return row;
  }),
  (log, random) => {
    const { stream_key: key } = random.pick(knownRows(log));
    const last = log.ofStream(key).at(-1);
    // Behind everything else it would be an event like any other that is not projected yet.
    if (!last || last.position === log.rows.at(-1)?.position) return undefined;
    log.insert(last, { ...last, id: random.uuid() });
    log.rechain(key);
    return 'an event at the end, and the chain made right again';
  },
];
