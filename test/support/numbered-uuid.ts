/** An id that tells in a failed test which one it is. */
export const numberedUuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
