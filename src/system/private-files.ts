import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const urlSafe = () => randomBytes(24).toString('base64url');

/**
 * Reads a secret that only this user may read; makes it the first time.
 *
 * @param make default: URL-safe characters, from 192 random bits
 */
export function readOrMakeSecret(path: string, make = urlSafe): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const secret = make();
  writePrivateFile(path, secret);
  return secret;
}

/** A private key of Ed25519, as 32 random bytes in base64. */
export const newSigningKey = (): string => randomBytes(32).toString('base64');

/** Writes a file that only this user may read; after a crash it is there whole or not at all. */
export function writePrivateFile(path: string, contents: string | Buffer): void {
  const incomplete = `${path}.incomplete`;
  writeFileSync(incomplete, contents, { mode: 0o600, flush: true });
  renameSync(incomplete, path);
}

/** Far beyond any secret or list of cookies. */
const maxPrivateBytes = 4 * 1024 * 1024;

/**
 * Reads a file that holds somebody's secrets.
 *
 * @throws with the remedy, and nothing of the contents, unless only its owner can read it, who is this user or root
 */
export function readPrivateText(path: string): string {
  const file = openSync(path, 'r');
  try {
    const { mode, uid, size } = fstatSync(file);
    const own = process.getuid?.() ?? uid;
    if ((mode & 0o170_000) !== 0o100_000) throw new Error(`${path} is not a file.`);
    if ((mode & 0o077) !== 0)
      throw new Error(
        `${path} has the mode 0${(mode & 0o777).toString(8)}: others can get at it. Run: chmod 600 ${path}`,
      );
    if (uid !== own && uid !== 0) throw new Error(`${path} belongs to another user (${String(uid)}).`);
    if (size > maxPrivateBytes) throw new Error(`${path} is larger than 4 MiB.`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
