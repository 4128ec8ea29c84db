import { beforeAll, describe, expect, it } from 'vitest';
import { verify } from '../../src/proof/verifier.mjs';
import { Random } from '../audit/random.ts';
import { canonicalJson } from '../commands/unbroken-chain.ts';
import { scaled } from '../support/proof-scale.ts';
import { documentsOf, provenHistory, proveText, publicKey } from './proven-log.ts';

/** Proofs that somebody has changed without the key of the log, nor the service: none is accepted. */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

let proofs: string[];
beforeAll(async () => {
  const log = await provenHistory(5);
  proofs = await Promise.all(documentsOf(log).map((document) => proveText(log, document)));
});

const random = new Random(Number(process.env['PROOF_SEED']));
const isAccepted = (text: string): Promise<boolean> =>
  verify(text, publicKey).then(
    () => true,
    () => false,
  );

/** Every place in a proof where a value stands: its parent, and its name in it. */
function placesOf(value: Json, found: [parent: Record<string, Json>, name: string][] = []) {
  if (typeof value !== 'object' || value === null) return found;
  for (const [name, each] of Object.entries(value)) {
    found.push([value as Record<string, Json>, name]);
    placesOf(each, found);
  }
  return found;
}

/** As the service would write it. */
const written = (proof: Json): string => `${canonicalJson(proof)}\n`;

const changes: Record<string, (text: string, other: string) => string> = {
  'another byte': (text) => {
    const at = random.below(text.length);
    return text.slice(0, at) + random.pick(['0', '1', 'a', 'Z', ' ', '"', ',', '}', '\n']) + text.slice(at + 1);
  },
  'a byte left out': (text) => {
    const at = random.below(text.length);
    return text.slice(0, at) + text.slice(at + 1);
  },
  'a field of another proof': (text, other) => {
    const [proof, from] = [JSON.parse(text) as Json, JSON.parse(other) as Json];
    const [parent, name] = random.pick(placesOf(proof));
    const [given = parent] = random.shuffled(placesOf(from).filter(([, named]) => named === name)).map(([of]) => of);
    parent[name] = given[name] ?? null;
    return written(proof);
  },
  'a field left out': (text) => {
    const proof = JSON.parse(text) as Json;
    const [parent, name] = random.pick(placesOf(proof));
    if (Array.isArray(parent)) parent.splice(Number(name), 1);
    else Reflect.deleteProperty(parent, name);
    return written(proof);
  },
  'a field more': (text) => {
    const proof = JSON.parse(text) as Json;
    const [parent] = random.pick(placesOf(proof));
    if (Array.isArray(parent)) parent.push(random.pick(parent));
    else parent['more'] = 1;
    return written(proof);
  },
  'a number changed': (text) => {
    const proof = JSON.parse(text) as Json;
    const [parent, name] = random.pick(placesOf(proof).filter(([of, named]) => typeof of[named] === 'number'));
    parent[name] = (parent[name] as number) + random.pick([-1, 1, 25, 0.5]);
    return written(proof);
  },
  'amounts moved between two lines': (text) => {
    const proof = JSON.parse(text) as { documents: { data: { lines: { cents: number }[] } }[] };
    const lines = proof.documents[0]!.data.lines;
    lines[0]!.cents += 1;
    lines.at(-1)!.cents -= lines.length > 1 ? 1 : 2;
    return written(proof);
  },
  'events in another order': (text) => {
    const proof = JSON.parse(text) as { period: Json[] };
    const at = random.below(proof.period.length);
    proof.period.splice(random.below(proof.period.length), 0, ...proof.period.splice(at, 1));
    return written(proof);
  },
  'the proof of another event': (text, other) => {
    const [proof, from] = [JSON.parse(text), JSON.parse(other)] as { document_proof: Json; closing_proof: Json }[];
    proof!.closing_proof = random.pick([from!.closing_proof, from!.document_proof, proof!.document_proof]);
    return written(proof as unknown as Json);
  },
  'another hash before the first event': (text) => {
    const proof = JSON.parse(text) as { previous_hash: string };
    proof.previous_hash = Buffer.alloc(32, random.below(256)).toString('base64');
    return written(proof);
  },
  'a space more': (text) => text.replace(',', ', '),
  'a field twice': (text) => text.replace('"format":', '"format":"","format":'),
  'a number written otherwise': (text) => text.replace(/"revision":(\d+)/, '"revision":$1.0'),
  'a letter written otherwise': (text) => text.replace('"account_id":"a', '"account_id":"\\u0061'),
};

describe('a proof with', () => {
  it.each(Object.entries(changes))('%s is refused', { timeout: 600_000 }, async (_name, change) => {
    const accepted: string[] = [];
    for (let round = 0; round < scaled(25, 800); round += 1) {
      const text = random.pick(proofs);
      const changed = change(text, random.pick(proofs));
      if (changed !== text && (await isAccepted(changed))) accepted.push(changed);
    }
    expect(accepted).toEqual([]);
  });
});

it('a signature of a witness more says nothing, and is accepted', async () => {
  const proof = JSON.parse(proofs[0]!) as { document_proof: string; closing_proof: string | null };
  const witness = `— witness.example ${Buffer.alloc(68).toString('base64')}\n`;
  proof.document_proof += witness;
  if (proof.closing_proof !== null) proof.closing_proof += witness;
  expect(await isAccepted(written(proof as unknown as Json))).toBe(true);
});
