/**
 * Replaces what differs from run to run, so that an example stays the same file: what is random or secret by one fixed value,
 * instants by fixed ones in the same order, and the addresses of the test's own servers by names.
 */
export function steady(example: object, addresses: Readonly<Record<string, string>>): object {
  let text = JSON.stringify(example);
  for (const [address, name] of Object.entries(addresses)) {
    text = text.replaceAll(address, name).replaceAll(encodeURIComponent(address), encodeURIComponent(name));
  }
  const instants = [...new Set(text.match(instantForm))].sort();
  // Periods begin and end at midnight.
  const [midnights, others] = [true, false].map((is) =>
    instants.filter((each) => each.endsWith('00:00:00.000') === is),
  );
  const fixed = new Map([
    ...(midnights ?? []).map((instant, index) => [instant, `2027-0${String(index + 1)}-01 00:00:00.000`] as const),
    ...(others ?? []).map((instant, index) => [instant, `2027-01-21 09:30:0${String(index)}.000`] as const),
  ]);
  // All at once: a fixed instant may be one of the example's own.
  text = text.replace(instantForm, (instant) => fixed.get(instant) ?? instant);
  return JSON.parse(text, (name, value: unknown) => steadyValue(name, value)) as object;
}

const token = 'Ak3JvV0m7Qd2Zb8cXrY5nTg0example0';
const instantForm = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}/g;
const daysForm = /\d+ \w+ \d{4} to \d+ \w+ \d{4}/;
const tokenForm = /\b[A-P][\w-]{31}(?![\w-])/g;

/** By the names of the fields that hold them. */
const steadyValues: Readonly<Record<string, unknown>> = {
  day: '2027-01-01',
  document_number: 'INV-7H2K-9M4P-1Q8S-5T3V-EXAM-1',
  key_id: 'key_7hq2exam0000example0',
  key: 'rtk_7Hq2exam0000example0000example0000example0000exam',
  key_prefix: 'rtk_7Hq2exam',
  percent: 42.5,
  speed: 1_048_576,
  eta: 3,
  file_size_bytes: 481_326,
  'X-RateLimit-Reset': '1800531000',
  'Retry-After': '3600',
};
const steadyParameters = { key: '1', expires: '1800531000', nonce: 'n0example', signature: 's0example' };

function steadyValue(name: string, value: unknown): unknown {
  if (name === 'download_url' && typeof value === 'string') return steadyLink(new URL(value.replace(tokenForm, token)));
  if ((name === 'token' || name === 'request_token') && typeof value === 'string')
    return value.replace(tokenForm, token);
  if (name === 'next' && value !== null) return 'MTg0Mg_example_cursor_0000000000';
  if (name === 'description' && typeof value === 'string')
    return value.replace(daysForm, '1 January 2027 to 31 January 2027');
  return name in steadyValues ? steadyValues[name] : value;
}

function steadyLink(link: URL): string {
  for (const [name, value] of Object.entries(steadyParameters)) {
    if (link.searchParams.has(name)) link.searchParams.set(name, value);
  }
  return link.href;
}
