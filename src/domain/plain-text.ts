import { z } from 'zod';

/** Text that people type. Control characters are refused, because databases and terminals mishandle them. */
export const plainText = (longest: number) =>
  z
    .string('must be a string')
    .max(longest, `is longer than ${String(longest)} characters`)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'has control characters');

export const email = plainText(254).regex(/^[^\s@]+@[^\s@]+$/, 'is not an e-mail address');
