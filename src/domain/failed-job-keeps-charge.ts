import type { Fault, JobEvent } from './download-job-events.ts';

/**
 * A failed job keeps its charge. The contract charges for queuing, and where the video or its platform is at fault the service
 * has done its work. A failure that is the service's own is given back, unless the terms of the period exclude that.
 */
export const failedJobKeepsCharge = (fault: Fault, returnsServiceFailures: boolean): boolean =>
  fault !== 'service' || !returnsServiceFailures;

/** True if a job has failed in a way that may give its charge back. */
export const isServiceFailure = (event: JobEvent): boolean =>
  // Stryker disable next-line ConditionalExpression: no other event has a fault
  event.type === 'JobFailed' && !failedJobKeepsCharge(event.data.fault, true);
