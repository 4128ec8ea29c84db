import type { RecordedEvent } from '../commands/ports.ts';
import { must, mustEqual } from '../verify/divergence.ts';
import type { Link } from '../verify/forms.ts';
import { Chain } from './chain.ts';

const mostAttempts = 3;
const triedAgain = ['platform_error', 'rate_limited_by_platform', 'timed_out', 'internal_error', 'lease_expired'];

/** What became of a download: queued → claimed → running → done or failed, and queued again when a claim is released. */
export class Job extends Chain {
  readonly queued: Link;
  readonly accountId: string;
  status: 'queued' | 'claimed' | 'running' | 'done' | 'failed' = 'queued';
  /** The charge was voided: the job may fail for that reason alone. */
  isVoided = false;
  attempts = 0;
  claim: Link | undefined;
  end: Link | undefined;
  #notBefore = '';

  constructor(queued: Link, accountId: string) {
    super(`job-${queued.data.token}`);
    this.queued = queued;
    this.accountId = accountId;
  }

  apply(recorded: RecordedEvent): void {
    const event = this.follow(recorded);
    const { type, data } = event;
    const isHeld = this.status === 'claimed' || this.status === 'running';
    const isRetried = triedAgain.includes(data.reason) && this.attempts < mostAttempts;
    const mayCome: Record<string, boolean> = {
      JobClaimed: this.status === 'queued' && this.time >= this.#notBefore,
      JobStarted: this.status === 'claimed',
      JobReleased: isHeld && (isRetried || data.reason === 'shutdown'),
      JobCompleted: isHeld,
      JobFailed: data.reason === 'voided' ? this.isVoided && !this.end : isHeld && !isRetried,
    };
    must(mayCome[type] === true, event, 'type', `one that may follow: the job is ${this.status}`);
    mustEqual(event, { token: this.queued.data.token });
    if (type === 'JobClaimed') {
      const { stream: usage_stream, revision: usage_revision } = this.queued;
      mustEqual(event, { account_id: this.accountId, usage_stream, usage_revision, attempt: (this.attempts += 1) });
      Object.assign(this, { status: 'claimed', claim: event });
    } else if (type === 'JobStarted') {
      mustEqual(event, { worker_id: this.claim?.data.worker_id });
      this.status = 'running';
    } else if (type === 'JobReleased') {
      if (data.reason === 'shutdown') this.attempts -= 1;
      this.#notBefore = data.not_before;
      Object.assign(this, { status: 'queued', claim: undefined });
    } else {
      if (type === 'JobCompleted') mustEqual(event, { claim_revision: this.claim?.revision });
      Object.assign(this, { status: type === 'JobCompleted' ? 'done' : 'failed', end: event, claim: undefined });
    }
  }
}
