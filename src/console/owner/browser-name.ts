/** Enough of a browser's description to recognise it, such as `Firefox on Linux`. @param description its User-Agent */
export function browserName(description: string): string {
  const browser = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((name) => description.includes(`${name}/`));
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'].find((name) =>
    description.includes(name),
  );
  const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };
  const shown = [browser, system].filter((part) => part !== undefined).map((part) => names[part] ?? part);
  return shown.length === 0 ? 'a browser' : shown.join(' on ');
}
