import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log, RecordedEvent } from '../../audit/rules/audited-log.ts';
import { HashTree } from '../../audit/rules/hash-tree.ts';
import { treeHeadsStream } from '../../audit/rules/streams.ts';
import { entryOf, isTreeLeaf } from '../../audit/rules/tree-heads.ts';
import { openCheckpoint } from '../../proof/checkpoint.ts';
import { type PublicKey, publicKeyOf, publicKeyText, signersOf } from '../../proof/signed-note.ts';
import { entriesOfBundle, tilePath, tilesOf } from '../../proof/tiles.ts';

/** A leaf of the tree, as the log has it now. */
interface Leaf extends Pick<RecordedEvent, 'stream' | 'revision' | 'type' | 'id'> {
  /** Hexadecimal. */
  entry: string;
}

/** A signed head that somebody kept, compared with the log. */
export interface ComparedCheckpoint {
  file: string;
  origin: string;
  size: number;
  /** The log names the key that has signed it, so that the signature was verified. */
  key_is_in_log: boolean;
  /** Nothing of what it covers was changed. */
  holds: boolean;
  /** The first leaf that was changed, as far as a mirror beside the file tells; the event is the one that stands there now. */
  first_changed: { leaf_index: number; stream: string; revision: number; type: string; event_id: string } | null;
  /** One sentence. */
  verdict: string;
}

/** A file of a checkpoint, or of a mirror, cannot be used. */
class CheckpointUnusable extends Error {
  override readonly name = 'CheckpointUnusable';
}

const pageEvents = 2_000;

/** The leaves that follow from the log itself, and the public keys that its heads name. */
async function readLeavesAndKeys(log: Pick<Log, 'readAll'>): Promise<{ leaves: Leaf[]; keys: PublicKey[] }> {
  const leaves: Leaf[] = [];
  const keys = new Map<string, PublicKey>();
  for (let page = await log.readAll(-1n, pageEvents); page.length > 0;) {
    for (const event of page) {
      const { stream, revision, type, id } = event;
      if (stream === treeHeadsStream) {
        const { key: text } = Object(event.data) as { key?: unknown };
        const key = typeof text === 'string' && !keys.has(text) ? publicKeyOf(text) : undefined;
        if (key) keys.set(publicKeyText(key), key);
      }
      if (isTreeLeaf(event)) leaves.push({ stream, revision, type, id, entry: entryOf(event) });
    }
    page = await log.readAll(page.at(-1)?.position ?? -1n, pageEvents);
  }
  return { leaves, keys: [...keys.values()] };
}

/**
 * Compares checkpoints that were kept with the log as it is now. The signature is verified if the log names its key;
 * otherwise the file is taken as it lies there: its reader has to know where it comes from. If it lies in a mirror, its entries tell which leaf was changed.
 *
 * @throws {CheckpointUnusable} for a file that is no signed checkpoint, whose signature is wrong, or a mirror that does not have the root of its own checkpoint
 */
export async function compareCheckpoints(
  log: Pick<Log, 'readAll'>,
  files: readonly string[],
): Promise<ComparedCheckpoint[]> {
  const kept = await Promise.all(files.map(async (file) => ({ file, ...(await readCheckpoint(file)) })));
  const { leaves, keys } = await readLeavesAndKeys(log);
  const sizes = new Set(kept.map(({ size }) => size));
  const roots = new Map<number, string>();
  const tree = new HashTree();
  for (const { entry } of leaves) {
    tree.add(entry);
    if (sizes.has(tree.size)) roots.set(tree.size, tree.root);
  }
  const compared: ComparedCheckpoint[] = [];
  for (const { file, note, origin, size, root } of kept) {
    const isSigned = hasSignature(file, { note, origin }, keys);
    const holds = size === 0 || roots.get(size) === root;
    const first = holds ? null : await findFirstChanged(file, { size, root }, leaves);
    compared.push({
      file,
      origin,
      size,
      key_is_in_log: isSigned,
      holds,
      first_changed: first,
      verdict: inWords({ size, holds, isSigned, first }, leaves),
    });
  }
  return compared;
}

function inWords(
  {
    size,
    holds,
    isSigned,
    first,
  }: Pick<ComparedCheckpoint, 'size' | 'holds'> & { isSigned: boolean; first: ComparedCheckpoint['first_changed'] },
  leaves: readonly Leaf[],
): string {
  const covered = `the ${String(size)} leaves of this checkpoint`;
  const unsigned = isSigned ? '' : '; no head of the log names its key, so its signature was not verified';
  if (holds) return `nothing of ${covered} was changed${unsigned}`;
  if (first) {
    const { leaf_index, stream, revision, type } = first;
    return `leaf ${String(leaf_index)} is the first of ${covered} that was changed: event ${String(revision)} of ${stream} (${type})`;
  }
  if (leaves.length < size) return `the log has only ${String(leaves.length)} of ${covered}`;
  return `one of ${covered} was changed, or more; a mirror would tell which`;
}

/**
 * @returns false if the log does not name the key
 * @throws {CheckpointUnusable} without a signature of the log that the checkpoint names, or with a wrong one
 */
function hasSignature(
  file: string,
  { note, origin }: { note: string; origin: string },
  keys: readonly PublicKey[],
): boolean {
  const ids = signersOf(note).flatMap(({ name, id }) => (name === origin ? [id] : []));
  if (ids.length === 0) throw new CheckpointUnusable(`${file} is not signed by ${origin}`);
  const own = keys.filter(({ name, id }) => name === origin && ids.includes(id));
  if (own.length === 0) return false;
  if (!openCheckpoint(note, own)) throw new CheckpointUnusable(`the signature of ${file} is wrong`);
  return true;
}

async function readCheckpoint(file: string): Promise<{ note: string; origin: string; size: number; root: string }> {
  const note = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CheckpointUnusable(`${file} cannot be read: ${String((error as NodeJS.ErrnoException).code)}`);
  });
  const form = /^([^\s+]+)\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\n\n/;
  const [, origin = '', size = '', root = ''] = form.exec(note) ?? [];
  if (origin === '') throw new CheckpointUnusable(`${file} is no checkpoint`);
  return { note, origin, size: Number(size), root: Buffer.from(root, 'base64').toString('hex') };
}

/** @returns null without a mirror, or where the log has all leaves that it has and lacks the next one */
async function findFirstChanged(
  file: string,
  { size, root }: { size: number; root: string },
  leaves: readonly Leaf[],
): Promise<ComparedCheckpoint['first_changed']> {
  const entries = await readMirror(dirname(file), size);
  if (!entries) return null;
  const tree = new HashTree();
  for (const entry of entries) tree.add(entry);
  if (tree.root !== root) throw new CheckpointUnusable(`the entries beside ${file} do not have its root`);
  const index = entries.findIndex((entry, at) => leaves[at]?.entry !== entry);
  const leaf = leaves[index];
  if (!leaf) return null;
  const { stream, revision, type, id } = leaf;
  return { leaf_index: index, stream, revision, type, event_id: id };
}

/** The entries of a mirror that has at least so many. @returns undefined if there is none */
async function readMirror(folder: string, size: number): Promise<string[] | undefined> {
  const entries: string[] = [];
  for (const tile of tilesOf(size)) {
    if (tile.level !== 'entries') break;
    const whole = join(folder, 'tile', tilePath({ ...tile, width: 256 }));
    // A mirror that has grown since has the whole tile, or the part that this checkpoint had.
    const bundle = (await readIfThere(whole)) ?? (await readIfThere(join(folder, 'tile', tilePath(tile))));
    if (!bundle) return undefined;
    entries.push(
      ...entriesOfBundle(bundle)
        .slice(0, tile.width)
        .map((entry) => entry.toString('hex')),
    );
  }
  return entries;
}

const readIfThere = (file: string): Promise<Buffer | undefined> => readFile(file).catch(() => undefined);
