import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Reads a secret that only this user may read; makes it, from 192 random bits, the first time. URL-safe characters only. */
export function readOrMakeSecret(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const secret = randomBytes(24).toString('base64url');
  writePrivateFile(path, secret);
  return secret;
}

/** Writes a file that only this user may read; after a crash it is there whole or not at all. */
export function writePrivateFile(path: string, text: string): void {
  const incomplete = `${path}.incomplete`;
  writeFileSync(incomplete, text, { mode: 0o600, flush: true });
  renameSync(incomplete, path);
}
