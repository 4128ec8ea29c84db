/** Finds misspelt settings: without this, a typing error would silently mean the default. */

export interface Misspelt {
  /** The name in the environment. */
  name: string;
  /** The nearest setting. */
  setting: string;
}

const prefix = 'REELTALLY_';

/** Kubernetes gives every container variables for every service of its namespace, which begin with the service's name. */
export function isFromKubernetes(name: string, value = ''): boolean {
  if (/_SERVICE_(HOST|PORT)(_|$)/.test(name)) return true;
  if (/_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value);
}

/** @returns unknown: they carry our prefix, so they are meant for us; similar: they may belong to another program */
export function checkNames(
  names: readonly string[],
  settings: readonly string[],
): Record<'unknown' | 'similar', Misspelt[]> {
  const others = names.filter((name) => !settings.includes(name));
  const isOurs = (name: string) => name.toUpperCase().startsWith(prefix);
  return {
    unknown: others.filter(isOurs).map((name) => ({ name, setting: nearest(name, settings).setting })),
    similar: others.flatMap((name) => {
      const swapped = settings.find((setting) => hasSwappedLetters(name, setting));
      if (swapped !== undefined) return [{ name, setting: swapped }];
      // The distance is at least the difference of the lengths. Only a few settings are left to compare.
      const candidates = settings.filter((each) => Math.abs(each.length - name.length) <= tolerance(each));
      const { setting, distance } = nearest(name, candidates);
      return !isOurs(name) && distance <= tolerance(setting) ? [{ name, setting }] : [];
    }),
  };
}

/** `PROT` for `PORT`: of a short word, the one slip that leads to no other program's variable. */
function hasSwappedLetters(name: string, setting: string): boolean {
  const lettersOf = (word: string) => Array.from(word).sort().join('');
  return setting.length >= 4 && lettersOf(name) === lettersOf(setting) && editDistance(name, setting) === 1;
}

/** Short words are too close to other programs' variables. */
function tolerance({ length }: string): number {
  return length >= 10 ? 2 : length >= 6 ? 1 : -1;
}

/** Our prefix may be one too many: REELTALLY_PORT means PORT. */
function nearest(name: string, settings: readonly string[]): { setting: string; distance: number } {
  const upper = name.toUpperCase();
  const readings = upper.startsWith(prefix) ? [upper, upper.slice(prefix.length)] : [upper];
  const [first = { setting: '', distance: Infinity }] = settings
    .map((setting) => ({ setting, distance: Math.min(...readings.map((each) => editDistance(each, setting))) }))
    .toSorted((a, b) => a.distance - b.distance);
  return first;
}

/** Letters to insert, delete, replace or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? Infinity) + 1,
        (current[column - 1] ?? Infinity) + 1,
        (last[column - 1] ?? Infinity) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[column - 2] ?? Infinity) + 1 : Infinity,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[b.length] ?? Infinity;
}
