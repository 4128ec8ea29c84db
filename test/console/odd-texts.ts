import fc from 'fast-check';

/** Texts that a part of an address or a field may have, and a program may stumble over. */
export const oddTexts = [
  ...[
    '',
    '\0',
    'a\0b',
    '%',
    '%zz',
    '..',
    '../..',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    "'",
    '"><script>',
  ],
  ...['0', '-1', '1e9', '99999999999999999999', 'NaN', '\u{1f3ac}', '\ud800', '\u202e', 'a'.repeat(3_000), '${7*7}'],
  ...['2026-11-24', '0000-01-01', '0001-01-01', '9999-12-31', '2026-02-30', '275760-09-14', '$1', '1; select 1'],
  ...[
    '2026-11-24T10:00:00.000Z~x',
    '0000-01-01T00:00:00.000Z~x',
    '9999-12-31T23:59:59.999Z~',
    '2026-11-24T10:00:00Z~\0',
  ],
  ...['done', 'now', 'next_period', 'csv', 'csv&as=csv', 'yes', 'https://example.com/x', 'ftp://x', 'own@example.com'],
];

/** Odd ones, ids that exist, and generated ones. @param ids asked when a text is generated */
export const textOf = (ids: () => readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...oddTexts) },
    { weight: 3, arbitrary: fc.nat(7).map((index) => ids()[index] ?? '') },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  );

export const wellFormed = (pairs: readonly [string, string][]) =>
  new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [name.toWellFormed(), value.toWellFormed()]),
  ).toString();

export const encode = (part: string) => encodeURIComponent(part.toWellFormed());

/** A part of a path as it stands in the request line, with everything that Node would refuse to send left out. */
export const partOf = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 5, arbitrary: text.map(encode) },
    { weight: 1, arbitrary: text.map((raw) => encode(encode(raw))) },
    { weight: 1, arbitrary: text.map((raw) => raw.replaceAll(/[^!-~]/g, '')) },
  );

/** Up to three fields. */
export const fieldsOf = (names: readonly string[], text: fc.Arbitrary<string>): fc.Arbitrary<[string, string][]> =>
  fc.array(
    fc.tuple(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: text }), text),
    { maxLength: 3 },
  );
