import { describe, expect, it } from 'vitest';
import { email, storedEmail } from '../../src/domain/plain-text.ts';

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
