import { readFileSync } from 'node:fs';

const suffix = '_FILE';

/** The variable that names the file of a secret. */
export const fileVariable = (setting: string): string => `${setting}${suffix}`;

/**
 * Container engines mount secrets as files: `NAME_FILE` names the file that holds the value of `NAME`. The end of its last line
 * is no part of it.
 *
 * @returns the variables with the secrets in place of the names of their files, and a fault for each that cannot be used
 */
export function withSecretFiles(
  given: Readonly<NodeJS.ProcessEnv>,
  settings: readonly string[],
): { values: NodeJS.ProcessEnv; faults: string[] } {
  const files = settings.map(fileVariable);
  const values = Object.fromEntries(Object.entries(given).filter(([name]) => !files.includes(name)));
  const faults: string[] = [];
  for (const setting of settings) {
    const variable = fileVariable(setting);
    const file = given[variable];
    if (file === undefined) continue;
    if (given[setting] !== undefined) {
      faults.push(`${setting}, ${variable}: set only one of the two`);
      continue;
    }
    try {
      const value = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      if (value === '') faults.push(`${variable}: the file is empty`);
      else values[setting] = value;
    } catch (error) {
      faults.push(`${variable}: the file cannot be read (${error instanceof Error ? codeOf(error) : ''})`);
    }
  }
  return { values, faults };
}

const codeOf = (error: NodeJS.ErrnoException): string => error.code ?? error.message;
