/**
 * Begins a measurement of Postgres's time, right before it is asked for. What it returns is told Postgres's answer, in
 * milliseconds since 1970.
 */
export type MeasureTime = () => (postgresMs: number) => void;

/** The time is not known for certain: nothing that needs it is decided or appended. */
export class ClockIsWrong extends Error {
  override readonly name = 'ClockIsWrong';

  constructor(why: string) {
    super(`nothing can be decided now: ${why}`);
  }
}
