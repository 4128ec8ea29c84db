import { ClockIsWrong, type MeasureTime } from '../../ports/clock.ts';

/** The clock of a process. */
export type Clock = ReturnType<typeof createClock>;

/** A machine whose clock is further off than this is faulty, and its logs and links are wrong. */
const maxSkewMs = 1_000;

/** The most that Postgres's time may move between two measurements against the time that the machine counts. */
const maxJumpMs = 3_600_000;

interface Bounds {
  least: number;
  most: number;
}

/**
 * Postgres's time, continued by the monotonic clock between measurements. All processes of an installation thus agree on it, and
 * a process on a machine whose own clock is wrong, or is set, ends no billing period.
 *
 * Where Postgres runs on the same machine, both clocks are set at once and agree. So a measurement is also compared with the one
 * before it: the time between them must be what the machine has counted, suspended time included. After a jump the process
 * decides nothing until the clock is set back, or until a restart, whose first measurement is compared with none.
 *
 * A measurement bounds the difference of two clocks: Postgres read its own at some instant between `sent` and `received`.
 * The difference is kept within those bounds. A late event loop makes them wider, which is less precise but never wrong.
 *
 * @param realNowMs reads this machine's clock, in milliseconds since 1970
 * @param uptimeMs counts on while the machine is suspended and is never set, in milliseconds
 * @param monotonicNowMs never goes back and is never set, in milliseconds; it may stand still while the machine is suspended
 * @param onChange told when this machine's clock turns out to be wrong, and when it is right again
 */
export function createClock({
  realNowMs,
  uptimeMs,
  monotonicNowMs = () => performance.now(),
  offsetSeconds = 0,
  onChange,
}: {
  realNowMs: () => number;
  uptimeMs: () => number;
  monotonicNowMs?: () => number;
  offsetSeconds?: number;
  onChange?: (fault: ClockIsWrong | undefined) => void;
}) {
  /** Postgres's time minus the monotonic clock's. */
  let differenceMs: number | undefined;
  /** Postgres's time minus the uptime, in the last measurement without a jump. */
  let sinceStartMs: Bounds | undefined;
  let wasRight = true;
  let fault: ClockIsWrong | undefined = new ClockIsWrong('Postgres has not told the time yet');
  return {
    /**
     * Business time, for periods and events, as UTC ISO-8601: Postgres's, shifted by `offsetSeconds`.
     *
     * @throws {ClockIsWrong} before the first measurement, and while the newest one says that this machine's clock is wrong
     */
    now: () => {
      if (fault || differenceMs === undefined) throw fault ?? new ClockIsWrong('the time is not known');
      return new Date(monotonicNowMs() + differenceMs + offsetSeconds * 1_000).toISOString();
    },
    /** This machine's clock, in milliseconds since 1970: for links and addresses. */
    realNowMs,
    offsetSeconds,
    measureTime: (): ReturnType<MeasureTime> => {
      const readClocks = () => ({ ms: monotonicNowMs(), realMs: realNowMs(), uptimeMs: uptimeMs() });
      const sent = readClocks();
      return (postgresMs) => {
        const received = readClocks();
        const counted = { least: postgresMs - received.uptimeMs, most: postgresMs - sent.uptimeMs };
        const jumpMs = jumpBetween(sinceStartMs ?? counted, counted);
        if (Math.abs(jumpMs) <= maxJumpMs) {
          sinceStartMs = counted;
          const [least, most] = [postgresMs - received.ms, postgresMs - sent.ms];
          differenceMs = Math.min(Math.max(differenceMs ?? (least + most) / 2, least), most);
        }
        const aheadMs = Math.max(sent.realMs - postgresMs, 0);
        const behindMs = Math.max(postgresMs - received.realMs, 0);
        const why = jumpText(jumpMs) ?? skewText(aheadMs > behindMs ? aheadMs : -behindMs);
        fault = why === undefined ? undefined : new ClockIsWrong(why);
        const isRight = fault === undefined;
        if (isRight === wasRight) return;
        wasRight = isRight;
        onChange?.(fault);
      };
    },
    /** Why `now` throws, if it does. */
    fault: () => fault,
  };
}

/** How far the difference has moved at least; below 0 if back. */
function jumpBetween(before: Bounds, after: Bounds): number {
  if (after.least > before.most) return after.least - before.most;
  return Math.min(after.most - before.least, 0);
}

function jumpText(jumpMs: number): string | undefined {
  if (Math.abs(jumpMs) <= maxJumpMs) return undefined;
  return (
    `Postgres's time jumped ${durationText(Math.abs(jumpMs))} ${jumpMs > 0 ? 'ahead' : 'back'} against what this machine has ` +
    'counted: its clock was set, or this machine was paused. If it is right now, restart this process, which accepts it; ' +
    'otherwise set it right'
  );
}

function durationText(ms: number): string {
  const hours = Math.round(ms / 3_600_000);
  return hours < 48 ? `${String(hours)} h` : `${String(Math.floor(hours / 24))} days`;
}

function skewText(skewMs: number): string | undefined {
  if (Math.abs(skewMs) <= maxSkewMs) return undefined;
  return `this machine's clock and that of Postgres differ by ${String(Math.round(skewMs / 1_000))} s; set them right`;
}
