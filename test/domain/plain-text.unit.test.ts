import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { email, plainText, storedEmail, visibleLine } from '../../src/domain/plain-text.ts';

describe('a text of somebody else', () => {
  it.each([
    ['A film', 'A film'],
    [' a\nb\r\n\tc\u2028d\u0085 ', 'a b c d'],
    ['\u202egpj.exe\u2066\u2069\u200e\u200f\u061c', 'gpj.exe'],
    ['\u001b[2J\u0000', '[2J'],
    ['\ud800x\udc00', '\ufffdx\ufffd'],
    ['👩‍👩‍👧 and פילם', '👩‍👩‍👧 and פילם'],
    [`${'x'.repeat(19)}🎬`, 'x'.repeat(19)],
    ['x'.repeat(10_000), 'x'.repeat(20)],
    ['', ''],
    [' \u200b\ufeff\u202e\u0000 ', ''],
    [`${'\u200b'.repeat(20)}x`, ''],
  ])('%j is the line %j', (text, line) => {
    expect(visibleLine(text, 20)).toBe(line);
    expect(plainText(20).safeParse(line).success).toBe(true);
  });

  it('is always a line that is plain', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const line = visibleLine(text, 20);
        expect(plainText(20).safeParse(line).success).toBe(true);
        expect(visibleLine(line, 20)).toBe(line);
      }),
    );
  });
});

describe('an e-mail address', () => {
  it.each([
    ...['x@pen.test', "o'hara+bills@pen.test", 'x@localhost', 'x@xn--mller-kva.test', '!#$%@a-b.c', 'X@PEN.TEST'],
    `${'x'.repeat(200)}@pen.test`,
  ])('is %s', (text) => {
    expect(email.safeParse(text).data).toBe(text);
  });

  it.each([
    ...['', '@', 'x', 'x@', '@pen.test', 'x@@pen.test', 'x@pen.test>', '<x@pen.test>', 'X <x@pen.test>', 'x@pen.test,'],
    ...['x,y@pen.test', 'x@pen.test,y@pen.test', 'x@pen.test;y@pen.test', 'a:x@pen.test', '"x y"@pen.test'],
    ...[
      '(x)y@pen.test',
      'x@pen.test(y)',
      'x@[127.0.0.1]',
      'x\\@pen.test',
      'x @pen.test',
      'x@pen.test\n',
      'x\0@pen.test',
    ],
    ...['x@pen..test', 'x@.test', 'x@test.', 'x@-a.test', 'x@ｐen.test', 'x@pen。test', 'ｘ@pen.test', 'x@pen.test%'],
    `${'x'.repeat(250)}@pen.test`,
  ])('is not %j', (text) => {
    expect(email.safeParse(text).success).toBe(false);
  });

  it('of an older event stays readable', () => {
    for (const text of ['x@pen.test>', 'ä@pen.test']) expect(storedEmail.safeParse(text).success).toBe(true);
  });
});
