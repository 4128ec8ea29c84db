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
