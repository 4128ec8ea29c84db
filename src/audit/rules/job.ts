import { Chain } from './chain.ts';
import type { Report } from './divergence.ts';
import type { Link } from './event-schemas.ts';

const mostAttempts = 3;
const triedAgain = ['platform_error', 'rate_limited_by_platform', 'timed_out', 'internal_error', 'lease_expired'];

/** The part of `DownloadQueued` that is kept, with its place in the stream of the period. */
interface Queued extends Pick<
  Link['data'],
  'token' | 'platform' | 'video_id' | 'url' | 'format' | 'quality' | 'overage'
> {
  stream: string;
  revision: number;
  time: string;
  /** The API key of the request; null if there was none. */
  keyId: string | null;
}

function queuedBy({ stream, revision, data, metadata: { time, actor } }: Link): Queued {
  const { token, platform, video_id, url, format, quality, overage } = data;
  const keyId = actor.type === 'api_key' ? actor.id : null;
  return { token, platform, video_id, url, format, quality, overage, stream, revision, time, keyId };
}

/** The states of a download: queued → claimed → running → done or failed; queued again when a claim is released; a file expires. */
export class Job extends Chain<string> {
  readonly queued: Queued;
  status: 'queued' | 'claimed' | 'running' | 'done' | 'failed' = 'queued';
  /** The charge was voided: the job may fail for that reason alone. */
  isVoided = false;
  attempts = 0;
  /** An attempt has fetched formats that were not delivered. */
  hasTried = false;
  claim: Link | undefined;
  end: Link | undefined;
  expired: Link | undefined;
  /** Cents of the charge: 0 for a credit. */
  readonly cents: number;
  /** A released job may not be claimed earlier. */
  notBefore: string | null = null;
  waitingSince: string;
  claimedAt: string | null = null;
  startedAt: string | null = null;
  /** Overage of the period directly after the charge; undefined for a job that was read again from its own stream. */
  runningCents: number | undefined;

  /** @param of accountId: the account that the download was queued for */
  constructor(stream: string, of: { accountId: string; queued: Link; cents: number }, report: Report) {
    super(stream, of.accountId, report);
    const { queued, cents } = of;
    this.queued = queuedBy(queued);
    this.cents = cents;
    this.waitingSince = this.queued.time;
  }

  check(event: Link): void {
    const { type, data } = event;
    const { queued, claim, status } = this;
    const isTriedAgain = triedAgain.includes(data.reason) && this.attempts < mostAttempts;
    // After the last of a film's formats another attempt would only say the same.
    const isGivenUp = data.fault === 'service' && this.hasTried;
    const allowed: Readonly<Record<string, readonly [next: Job['status'], isRight: boolean]>> = {
      JobClaimed: ['claimed', status === 'queued' && this.time >= (this.notBefore ?? '')],
      JobStarted: ['running', status === 'claimed'],
      JobReleased: ['queued', !!claim && (isTriedAgain || data.reason === 'shutdown')],
      JobCompleted: ['done', !!claim],
      JobFailed: [
        'failed',
        data.reason === 'voided' ? this.isVoided && !this.end : !!claim && (!isTriedAgain || isGivenUp),
      ],
      FileExpired: ['done', status === 'done' && !this.expired],
    };
    const [next, isRight = false] = allowed[type] ?? [];
    this.must('job_order', isRight, event, 'type', `one that may follow: the job is ${status}`);
    this.mustEqual('job_claim', event, { token: queued.token });
    if (!next) return;
    this.#follow(event);
    this.status = next;
    if (type !== 'JobStarted') this.claim = type === 'JobClaimed' ? event : undefined;
    if (next === 'done' || next === 'failed') this[this.end ? 'expired' : 'end'] = event;
  }

  #follow(event: Link): void {
    const { type, data } = event;
    const { queued, claim } = this;
    if (type === 'JobClaimed') {
      const of = { usage_stream: queued.stream, usage_revision: queued.revision, account_id: this.accountId };
      this.mustEqual('job_claim', event, { ...of, attempt: this.attempts + 1 });
      this.attempts = data.attempt;
      this.notBefore = null;
      this.claimedAt = this.time;
    } else if (type === 'JobStarted') {
      this.mustEqual('job_claim', event, { worker_id: claim?.data.worker_id });
      this.startedAt = this.time;
    } else if (type === 'JobReleased') {
      if (data.reason === 'shutdown') this.attempts -= 1;
      if (data.tried !== undefined) this.hasTried = true;
      this.notBefore = data.not_before;
      this.waitingSince = this.time > data.not_before ? this.time : data.not_before;
    } else if (type === 'JobCompleted') this.mustEqual('job_claim', event, { claim_revision: claim?.revision });
    else if (type === 'FileExpired')
      this.mustEqual('job_claim', event, { claim_revision: this.end?.data.claim_revision });
    else {
      // A voided charge is given back already.
      const isRight = data.fault === 'video' || data.reason !== 'voided';
      this.must('job_order', isRight, event, 'data.fault', `video, for ${data.reason}`);
    }
  }
}
