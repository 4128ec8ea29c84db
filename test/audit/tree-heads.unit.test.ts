import { describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../src/audit/rules/audited-log.ts';
import { Divergences } from '../../src/audit/rules/divergence.ts';
import type { Link } from '../../src/audit/rules/event-schemas.ts';
import { HashTree } from '../../src/audit/rules/hash-tree.ts';
import { TreeHeads } from '../../src/audit/rules/tree-heads.ts';
import { signCheckpoint } from '../../src/proof/checkpoint.ts';
import { publicKeyText, signerOf } from '../../src/proof/signed-note.ts';
import { naiveRoot, sha256 } from '../proof/naive-tree.ts';

const entries = Array.from({ length: 9 }, (_, index) => sha256(Buffer.of(index)));

const leaf = (entry: Buffer) => ({ metadata: { hash: entry.toString('hex') } }) as unknown as RecordedEvent;

interface Head {
  origin: string;
  size: number;
  root: string;
  note: string;
  key: string;
  frontier: string[];
}

function headOf(size: number, origin = 'log.test'): Head {
  const tree = new HashTree();
  for (const entry of entries.slice(0, size)) tree.add(entry.toString('hex'));
  const root = naiveRoot(entries.slice(0, size));
  const signer = signerOf(origin, Buffer.alloc(32, 3));
  const note = signCheckpoint({ size, root }, signer);
  return {
    origin,
    size,
    root: root.toString('hex'),
    note,
    key: publicKeyText(signer.publicKey),
    frontier: tree.frontier,
  };
}

/** Rules that heads break which follow one another, after so many leaves. */
function rulesOf(leaves: number, ...events: (Head | { begins: string; by?: string })[]): string[] {
  const divergences = new Divergences();
  const heads = new TreeHeads(divergences.report);
  for (const entry of entries.slice(0, leaves)) heads.followLeaf(leaf(entry));
  for (const [revision, event] of events.entries()) {
    const isBegin = 'begins' in event;
    const data = isBegin ? { origin: event.begins } : event;
    const actor = { type: isBegin ? (event.by ?? 'staff') : 'system', id: 'test' };
    const type = isBegin ? 'TreeOriginBegun' : 'TreeHeadSigned';
    heads.check({ stream: 'tree-heads', revision, type, data, metadata: { actor } } as unknown as Link);
  }
  return divergences.list().flatMap((account) => account.divergences.map(({ rule, field }) => `${rule} ${field}`));
}

it('passes heads of every size that follow from the log', () => {
  expect(rulesOf(9, ...entries.map((_, index) => headOf(index + 1)))).toEqual([]);
  expect(rulesOf(9, headOf(3), { begins: 'log.test/2' }, headOf(9, 'log.test/2'))).toEqual([]);
});

describe('names', () => {
  const other = headOf(2);
  it.each([
    ['a head that is larger than the log', [headOf(9)], 8, ['tree_head_size data.size']],
    ['two heads of one size', [headOf(3), headOf(3)], 9, ['tree_head_size data.size']],
    ['a smaller head behind a larger one', [headOf(3), headOf(2)], 9, ['tree_head_size data.size']],
    [
      'the root of another tree',
      [{ ...headOf(3), root: other.root }],
      9,
      ['tree_head_root data.root', 'tree_head_note data.note'],
    ],
    ['other subtrees', [{ ...headOf(3), frontier: other.frontier }], 9, ['tree_head_root data.frontier']],
    ['the note of another head', [{ ...headOf(3), note: other.note }], 9, ['tree_head_note data.note']],
    ['the key of another', [{ ...headOf(3), key: headOf(3, 'x').key }], 9, ['tree_head_note data.note']],
    [
      'a note with one more line',
      [{ ...headOf(3), note: headOf(3).note.replace('\n\n', '\nmore\n\n') }],
      9,
      ['tree_head_note data.note'],
    ],
    ['an origin that nobody has begun', [headOf(3), headOf(4, 'x')], 9, ['tree_origin data.origin']],
    [
      'an origin that the service begins',
      [headOf(3), { begins: 'x', by: 'system' }],
      9,
      ['tree_origin metadata.actor.type'],
    ],
  ])('%s', (_what, heads, leaves, wanted) => {
    expect(rulesOf(leaves, ...heads)).toEqual(wanted);
  });
});
