import { must, mustEqual } from '../verify/divergence.ts';
import type { Link } from '../verify/forms.ts';
import { Chain } from './chain.ts';

const mostAttempts = 3;
const triedAgain = ['platform_error', 'rate_limited_by_platform', 'timed_out', 'internal_error', 'lease_expired'];

/** What became of a download: queued → claimed → running → done or failed, queued again when a claim is released; a file expires. */
export class Job extends Chain {
  queued!: Link;
  status: 'queued' | 'claimed' | 'running' | 'done' | 'failed' = 'queued';
  /** The charge was voided: the job may fail for that reason alone. */
  isVoided = false;
  attempts = 0;
  claim: Link | undefined;
  end: Link | undefined;
  expired: Link | undefined;
  notBefore = '';

  check(event: Link): void {
    const { type, data } = event;
    const { queued, claim, status } = this;
    const isTriedAgain = triedAgain.includes(data.reason) && this.attempts < mostAttempts;
    const [next, isRight] =
      {
        JobClaimed: ['claimed', status === 'queued' && this.time >= this.notBefore] as const,
        JobStarted: ['running', status === 'claimed'] as const,
        JobReleased: ['queued', claim && (isTriedAgain || data.reason === 'shutdown')] as const,
        JobCompleted: ['done', claim !== undefined] as const,
        JobFailed: ['failed', data.reason === 'voided' ? this.isVoided && !this.end : claim && !isTriedAgain] as const,
        FileExpired: ['done', status === 'done' && !this.expired] as const,
      }[type] ?? [];
    must(isRight === true, event, 'type', `one that may follow: the job is ${status}`);
    mustEqual(event, { token: queued.data.token });
    if (type === 'JobClaimed') {
      mustEqual(event, { usage_stream: queued.stream, usage_revision: queued.revision });
      mustEqual(event, { account_id: queued.stream.split('-')[1], attempt: (this.attempts += 1) });
    } else if (type === 'JobStarted') mustEqual(event, { worker_id: claim?.data.worker_id });
    else if (type === 'JobCompleted') mustEqual(event, { claim_revision: claim?.revision });
    else if (type === 'FileExpired') mustEqual(event, { claim_revision: this.end?.data.claim_revision });
    else if (data.reason === 'shutdown') this.attempts -= 1;
    this.status = next;
    if (type !== 'JobStarted') this.claim = type === 'JobClaimed' ? event : undefined;
    if (type === 'JobReleased') this.notBefore = data.not_before;
    if (next === 'done' || next === 'failed') this[this.end ? 'expired' : 'end'] = event;
  }
}
