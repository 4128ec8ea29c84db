import type { RecordedEvent } from '../commands/ports.ts';
import { Chain, Divergence, must } from './chain.ts';
import type { Link } from './chain.ts';

const mostAttempts = 3;
const triedAgain = ['platform_error', 'rate_limited_by_platform', 'timed_out', 'internal_error', 'lease_expired'];

/** What became of a download: queued → claimed → running → done or failed, and queued again when a claim is released. */
export class Job extends Chain {
  readonly queued: Link;
  status: 'queued' | 'claimed' | 'running' | 'done' | 'failed' = 'queued';
  /** The charge was voided: the job may fail for that reason alone. */
  isVoided = false;
  attempts = 0;
  claim: Link | undefined;
  #notBefore = '';
  end: Link | undefined;

  constructor(queued: Link) {
    super(`job-${queued.data.token}`);
    this.queued = queued;
  }

  get isFinished(): boolean {
    return this.status === 'done' || this.status === 'failed';
  }

  apply(recorded: RecordedEvent): Link {
    const event = this.follow(recorded);
    const { type, data } = event;
    const isHeld = this.status === 'claimed' || this.status === 'running';
    const isRetried = triedAgain.includes(data.reason) && this.attempts < mostAttempts;
    const isAllowed = {
      JobClaimed: this.status === 'queued' && event.time >= this.#notBefore,
      JobStarted: this.status === 'claimed',
      JobReleased: isHeld && (isRetried || data.reason === 'shutdown'),
      JobCompleted: isHeld,
      JobFailed: data.reason === 'voided' ? this.isVoided && !this.isFinished : isHeld && !isRetried,
    }[type];
    if (isAllowed !== true) throw new Divergence(event, 'type', `one that may follow: the job is ${this.status}`, type);
    must(event, { token: this.queued.data.token });
    if (type === 'JobClaimed') {
      const { stream: usage_stream, revision: usage_revision } = this.queued;
      const account_id = usage_stream.split('-')[1];
      must(event, { attempt: (this.attempts += 1), account_id, usage_stream, usage_revision });
      [this.status, this.claim] = ['claimed', event];
    } else if (type === 'JobStarted') {
      must(event, { worker_id: this.claim?.data.worker_id });
      this.status = 'running';
    } else if (type === 'JobReleased') {
      if (data.reason === 'shutdown') this.attempts -= 1;
      [this.status, this.#notBefore, this.claim] = ['queued', data.not_before, undefined];
    } else {
      if (type === 'JobCompleted') must(event, { claim_revision: this.claim?.revision });
      [this.status, this.end, this.claim] = [type === 'JobCompleted' ? 'done' : 'failed', event, undefined];
    }
    return event;
  }
}
