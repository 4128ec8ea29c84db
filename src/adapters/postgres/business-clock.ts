import { ClockIsWrong } from '../../ports/clock.ts';
import type { MeasureTime } from '../../ports/clock.ts';

/** The clock of a process. */
export interface Clock {
  /**
   * Business time, for periods and events, as UTC ISO-8601: Postgres's, shifted by `offsetSeconds`.
   *
   * @throws {ClockIsWrong} before the first measurement, and while the newest one says that this machine's clock is wrong
   */
  now: () => string;
  /** This machine's clock, in milliseconds since 1970: for links and addresses. */
  realNowMs: () => number;
  offsetSeconds: number;
  measureTime: MeasureTime;
  /** Why `now` throws, if it does. */
  fault: () => ClockIsWrong | undefined;
}

/** A machine whose clock is further off than this is faulty, and its logs and links are wrong. */
const maxSkewMs = 1_000;

/**
 * Postgres's time, continued by the monotonic clock between measurements. All processes of an installation thus agree on it, and
 * setting a machine's clock, or a wrong clock, ends no billing period.
 *
 * A measurement bounds the difference of the two clocks: Postgres read its own at some instant between `sent` and `received`.
 * The difference is kept within those bounds. A late event loop makes them wider, which is less precise but never wrong.
 *
 * @param realNowMs reads this machine's clock, in milliseconds since 1970
 * @param monotonicNowMs never goes back and is never set, in milliseconds
 * @param onChange told when this machine's clock turns out to be wrong, and when it is right again
 */
export function createClock({
  realNowMs,
  monotonicNowMs = () => performance.now(),
  offsetSeconds = 0,
  onChange,
}: {
  realNowMs: () => number;
  monotonicNowMs?: () => number;
  offsetSeconds?: number;
  onChange?: (fault: ClockIsWrong | undefined) => void;
}): Clock {
  /** Postgres's time minus the monotonic clock's. */
  let differenceMs: number | undefined;
  let wasRight = true;
  let fault: ClockIsWrong | undefined = new ClockIsWrong('Postgres has not told the time yet');
  return {
    now: () => {
      if (fault || differenceMs === undefined) throw fault ?? new ClockIsWrong('the time is not known');
      return new Date(monotonicNowMs() + differenceMs + offsetSeconds * 1_000).toISOString();
    },
    realNowMs,
    offsetSeconds,
    measureTime: () => {
      const sent = { ms: monotonicNowMs(), realMs: realNowMs() };
      return (postgresMs) => {
        const received = { ms: monotonicNowMs(), realMs: realNowMs() };
        const [least, most] = [postgresMs - received.ms, postgresMs - sent.ms];
        differenceMs = Math.min(Math.max(differenceMs ?? (least + most) / 2, least), most);
        const aheadMs = Math.max(sent.realMs - postgresMs, 0);
        const behindMs = Math.max(postgresMs - received.realMs, 0);
        const isRight = aheadMs <= maxSkewMs && behindMs <= maxSkewMs;
        fault = isRight ? undefined : new ClockIsWrong(differenceText(aheadMs - behindMs));
        if (isRight === wasRight) return;
        wasRight = isRight;
        onChange?.(fault);
      };
    },
    fault: () => fault,
  };
}

const differenceText = (skewMs: number): string =>
  `this machine's clock and that of Postgres differ by ${String(Math.round(skewMs / 1_000))} s; set them right`;
