import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openCheckpoint, signCheckpoint } from '../../src/proof/checkpoint.ts';
import { openNote, publicKeyOf, publicKeyText, signerOf, signNote } from '../../src/proof/signed-note.ts';

const signer = signerOf('reeltally.example/log', Buffer.alloc(32, 7));
const root = Buffer.alloc(32, 1);
const checkpoint = signCheckpoint({ size: 5, root }, signer);

describe('a signed note', () => {
  /** The example of golang.org/x/mod/sumdb/note, whose format it is. */
  it('is that of other implementations', () => {
    const peter = publicKeyOf('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
    const text =
      "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    const note = `${text}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`;
    expect(peter && openNote(note, [peter])).toBe(text);
    expect(peter && openNote(note.replace('answer', 'Answer'), [peter])).toBeUndefined();
  });

  it('may have signatures of others besides', () => {
    const other = signerOf('witness.example', randomBytes(32));
    const both = checkpoint + signNote('x\n', other).slice(3);
    expect(openCheckpoint(both, [signer.publicKey])).toEqual({ size: 5, root });
  });

  it('has a public key that is read back', () => {
    const text = publicKeyText(signer.publicKey);
    expect(publicKeyOf(text)).toEqual(signer.publicKey);
    expect(publicKeyOf(text.replace('log', 'lot'))).toBeUndefined();
    expect(publicKeyOf('reeltally.example/log')).toBeUndefined();
  });
});

describe('a checkpoint', () => {
  it('has name, size and root in lines of their own', () => {
    expect(checkpoint.split('\n').slice(0, 4)).toEqual(['reeltally.example/log', '5', root.toString('base64'), '']);
    expect(openCheckpoint(checkpoint, [signer.publicKey])).toEqual({ size: 5, root });
  });

  it('is refused with any bit changed', () => {
    const bytes = Buffer.from(checkpoint);
    for (const [at, byte] of bytes.entries())
      for (let bit = 0; bit < 8; bit += 1) {
        const changed = Buffer.from(bytes);
        changed[at] = byte ^ (1 << bit);
        const opened = openCheckpoint(changed.toString(), [signer.publicKey]);
        expect([at, bit, opened]).toEqual([at, bit, undefined]);
      }
  });

  it('is refused under the key of another, and under the name of another', () => {
    const other = signerOf('reeltally.example/log', randomBytes(32));
    const elsewhere = signerOf('elsewhere.example/log', Buffer.alloc(32, 7));
    expect(openCheckpoint(checkpoint, [other.publicKey, elsewhere.publicKey])).toBeUndefined();
    const lent = signNote(`elsewhere.example/log\n5\n${root.toString('base64')}\n`, signer);
    expect(openCheckpoint(lent, [signer.publicKey, elsewhere.publicKey])).toBeUndefined();
  });
});
