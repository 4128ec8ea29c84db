import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { demoOf, ownService } from './shared-service.ts';

// With all that it stores in its own folder.
const service = ownService({}, [], { postgres: 'embedded' });

describe('POST /auth/key, 201', () => {
  it('is the only time that the key is seen: nothing on disk holds it, nor its label in the clear', async () => {
    const { data } = await call(service.url, '/auth/key', {
      key: demoOf(service).key,
      body: { label: 'kept nowhere' },
    });
    const files = filesOf(service.dataDirectory);
    const isOnDisk = (text: unknown) => files.some((content) => content.includes(Buffer.from(String(text))));
    expect(isOnDisk(data['key_prefix'])).toBe(true);
    expect(isOnDisk(data['key'])).toBe(false);
    expect(isOnDisk('kept nowhere')).toBe(false);
    expect(service.log()).not.toContain(String(data['key']));
  });
});

/** What stands in all files below a folder; what goes away meanwhile is passed over. */
function filesOf(directory: string): Buffer[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      try {
        return [readFileSync(join(entry.parentPath, entry.name))];
      } catch {
        return [];
      }
    });
}
