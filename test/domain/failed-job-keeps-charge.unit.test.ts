import { describe, expect, it } from 'vitest';
import type { JobEvent } from '../../src/domain/download-job-events.ts';
import { failedJobKeepsCharge, isServiceFailure } from '../../src/domain/failed-job-keeps-charge.ts';
import { token } from './usage-examples.ts';

describe('a failed job', () => {
  it.each([
    { fault: 'video', returnsServiceFailures: true, keeps: true },
    { fault: 'video', returnsServiceFailures: false, keeps: true },
    { fault: 'service', returnsServiceFailures: false, keeps: true },
    { fault: 'service', returnsServiceFailures: true, keeps: false },
  ] as const)('keeps its charge: $keeps, for $fault and $returnsServiceFailures', (example) => {
    expect(failedJobKeepsCharge(example.fault, example.returnsServiceFailures)).toBe(example.keeps);
  });

  it.each(['service', 'video'] as const)('by the fault of the %s is a service failure, or not', (fault) => {
    const failed: JobEvent = { type: 'JobFailed', data: { token: token(1), reason: 'internal_error', fault } };
    expect(isServiceFailure(failed)).toBe(fault === 'service');
  });
});

it('a released job has not failed', () => {
  const data = { token: token(1), reason: 'internal_error', not_before: '2026-11-14T12:00:00.000Z' } as const;
  expect(isServiceFailure({ type: 'JobReleased', data })).toBe(false);
});
