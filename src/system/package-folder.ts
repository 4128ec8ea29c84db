import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** @param file of a package, such as `name/package.json`, or its name for its entry @returns its folder; undefined if it is not installed */
export function folderInPackage(file: string): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(file));
  } catch {
    return undefined;
  }
}
