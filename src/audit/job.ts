import { must, mustEqual } from '../verify/divergence.ts';
import type { Link } from '../verify/forms.ts';
import { Chain } from './chain.ts';

const mostAttempts = 3;
const triedAgain = ['platform_error', 'rate_limited_by_platform', 'timed_out', 'internal_error', 'lease_expired'];

/** What became of a download: queued → claimed → running → done or failed, and queued again when a claim is released. */
export class Job extends Chain {
  queued!: Link;
  status: 'queued' | 'claimed' | 'running' | 'done' | 'failed' = 'queued';
  /** The charge was voided: the job may fail for that reason alone. */
  isVoided = false;
  attempts = 0;
  claim: Link | undefined;
  end: Link | undefined;
  notBefore = '';

  check(event: Link): void {
    const { type, data } = event;
    const { queued, claim, status } = this;
    const isTriedAgain = triedAgain.includes(data.reason) && this.attempts < mostAttempts;
    const isRight = {
      JobClaimed: status === 'queued' && this.time >= this.notBefore,
      JobStarted: status === 'claimed',
      JobReleased: claim && (isTriedAgain || data.reason === 'shutdown'),
      JobCompleted: claim !== undefined,
      JobFailed: data.reason === 'voided' ? this.isVoided && !this.end : claim && !isTriedAgain,
    }[type];
    must(isRight === true, event, 'type', `one that may follow: the job is ${status}`);
    mustEqual(event, { token: queued.data.token });
    if (type === 'JobClaimed') {
      mustEqual(event, { usage_stream: queued.stream, usage_revision: queued.revision });
      mustEqual(event, { account_id: queued.stream.split('-')[1], attempt: (this.attempts += 1) });
      Object.assign(this, { status: 'claimed', claim: event });
    } else if (type === 'JobStarted') {
      mustEqual(event, { worker_id: claim?.data.worker_id });
      this.status = 'running';
    } else if (type === 'JobReleased') {
      if (data.reason === 'shutdown') this.attempts -= 1;
      Object.assign(this, { status: 'queued', claim: undefined, notBefore: data.not_before });
    } else {
      if (type === 'JobCompleted') mustEqual(event, { claim_revision: claim?.revision });
      Object.assign(this, { status: type === 'JobFailed' ? 'failed' : 'done', end: event, claim: undefined });
    }
  }
}
