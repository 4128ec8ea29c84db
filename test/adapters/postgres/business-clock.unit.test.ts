import { describe, expect, it } from 'vitest';
import { createClock } from '../../../src/adapters/postgres/business-clock.ts';
import { ClockIsWrong } from '../../../src/ports/clock.ts';

const startMs = Date.parse('2026-11-21T12:00:00.000Z');

/** A machine, and Postgres, whose clocks go as they are told. */
function machine({ offsetSeconds = 0 } = {}) {
  let passedMs = 0;
  let suspendedMs = 0;
  let setMs = 0;
  let postgresSetMs = 0;
  const changes: (string | undefined)[] = [];
  const nowMs = () => startMs + passedMs + suspendedMs;
  const clock = createClock({
    realNowMs: () => nowMs() + setMs,
    monotonicNowMs: () => 5_000_000 + passedMs,
    uptimeMs: () => 9_000_000 + passedMs + suspendedMs,
    offsetSeconds,
    onChange: (fault) => changes.push(fault?.message),
  });
  const pass = (ms: number) => (passedMs += ms);
  return {
    clock,
    pass,
    /** Sets the machine's own clock. */
    set: (ms: number) => (setMs = ms),
    /** Sets the clock of the machine that Postgres runs on too. */
    setBoth: (ms: number) => (setMs = postgresSetMs = ms),
    /** Time in which the machine, and the monotonic clock, stand still. */
    suspend: (ms: number) => (suspendedMs += ms),
    changes,
    /** Postgres reads its clock after `there`, and its answer is taken after `back`, in milliseconds. */
    measure: (there = 1, back = 1) => {
      const told = clock.measureTime();
      pass(there);
      const postgresMs = nowMs() + postgresSetMs;
      pass(back);
      told(postgresMs);
    },
    errorMs: () => Date.parse(clock.now()) - offsetSeconds * 1_000 - nowMs(),
  };
}

describe('the time', () => {
  it('is not known before Postgres has told it', () => {
    const { clock } = machine();
    expect(() => clock.now()).toThrow(ClockIsWrong);
    clock.measureTime();
    expect(() => clock.now()).toThrow('Postgres has not told the time yet');
  });

  it('is that of Postgres, and goes on from its last word', () => {
    const { measure, pass, errorMs } = machine();
    measure();
    for (const ms of [0, 1, 1_000, 86_400_000]) {
      pass(ms);
      expect(errorMs()).toBe(0);
    }
  });

  it('is never further off than the way there and back allows', () => {
    const { measure, errorMs } = machine();
    measure(0, 400);
    expect(errorMs()).toBe(-200);
    measure(0, 300);
    expect(errorMs()).toBe(-200);
    measure(0, 10);
    expect(errorMs()).toBe(-10);
    // Bounds that are wider say nothing new.
    measure(4_000, 90_000);
    expect(errorMs()).toBe(-10);
    measure(1, 1);
    expect(errorMs()).toBe(-1);
    measure(1, 0);
    expect(errorMs()).toBe(0);
  });

  it('is shifted for tests, after all that', () => {
    const { clock, measure } = machine({ offsetSeconds: -86_400 });
    measure();
    expect(clock.now()).toBe('2026-11-20T12:00:00.002Z');
  });
});

describe("this machine's clock", () => {
  const hourMs = 3_600_000;

  it.each([1_001, -1_001, 5 * hourMs, -5 * hourMs, 32 * 24 * hourMs, -32 * 24 * hourMs])(
    'off by %i ms stops everything until it is set right',
    (ms) => {
      const { clock, measure, set, errorMs } = machine();
      measure(0, 0);
      set(ms);
      // Between two measurements, the time is right all the same.
      expect(errorMs()).toBe(0);
      measure(0, 0);
      expect(() => clock.now()).toThrow(`differ by ${String(Math.round(ms / 1_000))} s; set them right`);
      expect(clock.fault()).toBeInstanceOf(ClockIsWrong);
      set(0);
      measure(0, 0);
      expect(errorMs()).toBe(0);
      expect(clock.fault()).toBeUndefined();
    },
  );

  it.each([1_000, -1_000])('off by %i ms, which is a second, will do', (ms) => {
    const { measure, set, errorMs } = machine();
    set(ms);
    measure(0, 0);
    expect(errorMs()).toBe(0);
  });

  it('is not blamed for an event loop, or a Postgres, that takes a minute', () => {
    const { measure, clock } = machine();
    measure();
    for (const [there, back] of [
      [60_000, 0],
      [0, 60_000],
      [60_000, 60_000],
    ]) {
      measure(there, back);
      expect(clock.fault()).toBeUndefined();
    }
  });
});

describe('the clock of the machine that runs Postgres too', () => {
  const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

  it.each([
    [40 * dayMs, '40 days ahead'],
    [-40 * dayMs, '40 days back'],
    [hourMs + 1_000, '1 h ahead'],
    [-hourMs - 1_000, '1 h back'],
  ])('set by %i ms stops everything until it is set right', (ms, jump) => {
    const { clock, measure, pass, setBoth, errorMs, changes } = machine();
    measure();
    setBoth(ms);
    for (const passedMs of [1_000, 30 * dayMs]) {
      pass(passedMs);
      measure();
      expect(() => clock.now()).toThrow(`Postgres's time jumped ${jump}`);
    }
    setBoth(0);
    measure();
    expect(errorMs()).toBe(0);
    expect(changes).toEqual([expect.stringContaining('restart'), undefined]);
  });

  it.each([hourMs, -hourMs, 5 * minuteMs])('may be set by %i ms', (ms) => {
    const { measure, setBoth, clock, changes } = machine();
    measure();
    setBoth(ms);
    measure();
    expect(Date.parse(clock.now())).toBeCloseTo(startMs + ms, -2);
    expect(changes).toEqual([]);
  });

  it('goes on while the machine is suspended, and while nothing is measured', () => {
    const { measure, suspend, pass, changes, errorMs } = machine();
    measure();
    for (const ms of [hourMs, 8 * hourMs, 90 * dayMs]) {
      suspend(ms);
      measure();
      pass(ms);
      measure();
    }
    expect(errorMs()).toBe(-1);
    expect(changes).toEqual([]);
  });

  it('is not blamed for an answer that was under way while the machine was suspended', () => {
    const { clock, suspend, measure, changes } = machine();
    measure();
    const told = clock.measureTime();
    suspend(8 * hourMs);
    told(startMs);
    measure();
    expect(changes).toEqual([]);
  });
});
