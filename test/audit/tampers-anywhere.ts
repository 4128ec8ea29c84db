import { canonicalJson } from '../commands/unbroken-chain.ts';
import { bytesOf, textOf } from './forged-log.ts';
import type { ForgedLog, Row } from './forged-log.ts';
import type { Random } from './random.ts';

/** One lie that was told: what was done, and to which stream or row. */
export interface Lie {
  kind: string;
  where: string;
}

/** Changes something in a log. @returns what it was; undefined where there was nothing to change */
type Tamper = (log: ForgedLog, random: Random) => Lie | undefined;

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

/** Whether a reader would see any difference. */
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
    return { kind: `a bit of ${column}`, where: row.name };
  };

const anothers =
  (column: 'id' | 'type'): Tamper =>
  (log, random) => {
    const row = random.pick(log.rows);
    log.write(row.position, { [column]: anotherCharacter(row[column], random) });
    return { kind: `a character of the ${column}`, where: row.name };
  };

export const anywhere: readonly Tamper[] = [
  (log, random) => {
    const row = random.pick(log.rows);
    const data = withAnotherNumber(row, random);
    if (!data) return undefined;
    log.write(row.position, { data });
    return { kind: 'a number', where: row.name };
  },
  (log, random) => {
    const row = random.pick(log.rows);
    const data = withAnotherNumber(row, random);
    if (!data) return undefined;
    log.write(row.position, { data });
    log.rechain(row.stream_key);
    return { kind: 'a number, and the chain made right again', where: row.name };
  },
  flip('data'),
  flip('metadata'),
  anothers('id'),
  anothers('type'),
  (log, random) => {
    const { stream_key: key, name } = random.pick(log.rows);
    const other = anotherCharacter(name, random);
    if (log.rows.some((row) => row.name === other)) return undefined;
    log.run('update streams set name = ? where stream_key = ?', other, key);
    return { kind: "a character of the stream's name", where: name };
  },
  (log, random) => {
    const [one, other] = [random.pick(log.rows), random.pick(log.rows)];
    if (one === other) return undefined;
    for (const [to, { id, type, data, metadata }] of [
      [one, other],
      [other, one],
    ] as const)
      log.write(to.position, { id, type, data, metadata });
    return { kind: 'two events swapped', where: one.name };
  },
  (log, random) => {
    const one = random.pick(log.rows);
    const other = log.ofStream(one.stream_key)[one.revision + 1];
    if (!other) return undefined;
    for (const [to, { id, type, data, metadata }] of [
      [one, other],
      [other, one],
    ] as const)
      log.write(to.position, { id, type, data, metadata });
    log.rechain(one.stream_key);
    return { kind: 'two neighbours swapped, and the chain made right again', where: one.name };
  },
  (log, random) => {
    const { position, stream_key: key, name } = random.pick(log.rows);
    log.run('delete from events where position = ?', position);
    log.setEnd(key);
    return { kind: 'an event deleted', where: name };
  },
  (log, random) => {
    const { stream_key: key, revision, name } = random.pick(log.rows);
    log.run('delete from events where stream_key = ? and revision >= ?', key, revision);
    log.setEnd(key);
    return { kind: 'a tail cut', where: name };
  },
  (log, random) => {
    const { stream_key: key, name } = random.pick(log.rows);
    log.run('delete from events where stream_key = ?', key);
    log.run('delete from streams where stream_key = ?', key);
    return { kind: 'a stream deleted', where: name };
  },
  (log, random) => {
    const row = random.pick(log.rows.slice(0, -1));
    const { data, type } = random.pick(log.rows.filter(({ name }) => name.split('-')[0] === row.name.split('-')[0]));
    log.insert(row, { id: random.uuid(), type, data, metadata: row.metadata });
    return { kind: 'an event inserted', where: row.name };
  },
  (log, random) => {
    const row = random.pick(log.rows.slice(0, -1));
    const { data, type } = random.pick(log.rows.filter(({ name }) => name.split('-')[0] === row.name.split('-')[0]));
    log.insert(row, { id: random.uuid(), type, data, metadata: row.metadata });
    log.rechain(row.stream_key);
    return { kind: 'an event inserted, and the chain made right again', where: row.name };
  },
  (log, random) => {
    const { stream_key: key } = random.pick(log.rows);
    const last = log.ofStream(key).at(-1);
    // Behind everything else it would be an event like any other that is not projected yet.
    if (!last || last.position === log.rows.at(-1)?.position) return undefined;
    log.insert(last, { ...last, id: random.uuid() });
    log.rechain(key);
    return { kind: 'an event at the end, and the chain made right again', where: last.name };
  },
];
