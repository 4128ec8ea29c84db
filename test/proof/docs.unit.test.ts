import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verify } from '../../src/proof/verifier.mjs';
import { canonicalJson } from '../commands/unbroken-chain.ts';
import { codeBlocks } from '../tidy/markdown.ts';
import { root } from '../tidy/source-files.ts';

/** The worked bytes of docs/proofs.md, computed with nothing of the service. */
const page = readFileSync(join(root, 'docs/proofs.md'), 'utf8');
const worked = codeBlocks('docs/proofs.md').filter(({ language }) => language === '');
const [first = '', event = '', hash = '', leaf = ''] = worked.map(({ text }) => text.trim());
const text = readFileSync(join(root, 'docs/examples/proof/opening-invoice.proof'), 'utf8');
const proof = JSON.parse(text) as {
  period: { stream: string; metadata: Record<string, unknown> }[];
  documents: { metadata: { hash: string }; data: { lines: { event: { hash: string } }[] } }[];
  document_proof: string;
};

const sha256 = (...parts: (string | Buffer)[]): Buffer => {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest();
};

it('docs/proofs.md: the bytes of the chain are those of the example', () => {
  const [opening] = proof.period;
  const { hash: stored, ...metadata } = opening!.metadata;
  expect(first).toBe(sha256(opening!.stream).toString('hex'));
  expect(event).toBe(canonicalJson({ ...opening, metadata }));
  expect(hash).toBe(sha256(Buffer.from(first, 'hex'), event).toString('hex'));
  expect(hash).toBe(stored);
  expect(proof.documents[0]!.data.lines[0]!.event.hash).toBe(hash);
});

it('docs/proofs.md: the bytes of the log are those of the example', () => {
  const entry = sha256(Buffer.of(0), Buffer.from(proof.documents[0]!.metadata.hash, 'hex'));
  expect(leaf).toBe(entry.toString('hex'));
  const [, index, ...lines] = proof.document_proof.split('\n');
  const path = lines.slice(0, lines.indexOf(''));
  expect(index).toBe('index 0');
  const root = path.reduce((node, line) => sha256(Buffer.of(1), node, Buffer.from(line, 'base64')), entry);
  expect(page).toContain(`\`${root.toString('base64')}\``);
  expect(proof.document_proof.split('\n')).toContain(root.toString('base64'));
});

it('docs/proofs.md: the example is verified with the key of the page', async () => {
  const [, key = ''] = / --key (\S+)/.exec(page) ?? [];
  expect((await verify(text, key)).verdict).toMatch(
    /^INV-A08F-F49B-6F77-2632-716C-1 \(19\.00 USD\) follows from 0 charges/,
  );
});
