import type { Environment } from './service.ts';

/** Settings that move a process's clock of billing periods. @param seconds by which it is ahead */
export const clockOffset = (seconds: number): Environment => ({
  REELTALLY_CLOCK_OFFSET_SECONDS: String(Math.round(seconds)),
});

/** The same to a day: it is ten o'clock there now. @param day YYYY-MM-DD */
export const clockOffsetTo = (day: string): Environment =>
  clockOffset((Date.parse(`${day}T10:00:00Z`) - Date.now()) / 1_000);

/** The time of a process with these settings, in milliseconds. */
export const nowWith = ({ REELTALLY_CLOCK_OFFSET_SECONDS: seconds = '0' }: Environment): number =>
  Date.now() + Number(seconds) * 1_000;
