/**
 * Called right before Postgres is asked for its time, which begins a measurement. The returned function takes Postgres's answer,
 * in milliseconds since 1970, and ends it.
 */
export type MeasureTime = () => (postgresMs: number) => void;

/** The time is not certain, so nothing that needs it is decided or appended. */
export class ClockIsWrong extends Error {
  override readonly name = 'ClockIsWrong';

  constructor(why: string) {
    super(`nothing can be decided now: ${why}`);
  }
}
