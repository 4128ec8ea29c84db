import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { endOfAnswer } from '../requests/end-of-answer.ts';
import { takeOpenPlace } from './authenticate.ts';
import { callerOf } from './caller.ts';
import type { EndpointDependencies } from './endpoint.ts';
import { appliedWait, longestWaitSeconds, preferredWait } from './prefer.ts';
import type { WaitOptions } from './waiting-polls.ts';

/** Polls that may wait for their answer, and their places in the hourly window. */

export interface Polled<Data> {
  data: Data;
  /** Token of the first download whose end it tells; undefined: it tells none. */
  toldEnd: string | undefined;
  waited: 'not' | 'some_time' | 'a_minute';
}

/** Of so many downloads a process remembers that it has told their end. One that is forgotten may be told once more. */
const maxEndsTold = 100_000;

/**
 * Counts each poll in the hourly window once its outcome says that it takes a place: the first to tell an end, and one that has
 * waited a minute in vain, take none (decision 59).
 *
 * @returns a function that runs a poll, and makes its answer once the poll is counted; `gone` if nobody reads the answer
 */
export function countPolls(dependencies: EndpointDependencies) {
  const endsTold = new LRUCache<string, true>({ max: maxEndsTold });
  const isFree = ({ toldEnd, waited }: Polled<unknown>): boolean => {
    if (toldEnd === undefined) return waited === 'a_minute';
    const isFirst = !endsTold.has(toldEnd);
    endsTold.set(toldEnd, true);
    return isFirst;
  };
  return async <Data, Answer>(
    request: FastifyRequest,
    reply: FastifyReply,
    { poll, answer }: { poll: () => Promise<Polled<Data> | 'gone'>; answer: (data: Data) => Promise<Answer> | Answer },
  ): Promise<Answer | 'gone'> => {
    const polled = await poll().catch(async (error: unknown) => {
      await takeOpenPlace(request, reply, dependencies);
      throw error;
    });
    if (polled === 'gone') {
      // Nobody is told that it was refused.
      await takeOpenPlace(request, reply, dependencies).catch(() => undefined);
      return 'gone';
    }
    // Decided for every poll: one that did not wait for the end has told it too.
    if (!isFree(polled)) await takeOpenPlace(request, reply, dependencies);
    try {
      return await answer(polled.data);
    } catch (error) {
      // It was not told.
      if (polled.toldEnd !== undefined) endsTold.delete(polled.toldEnd);
      throw error;
    }
  };
}

type Wait = Pick<WaitOptions, 'seconds' | 'untilEnded' | 'gone' | 'keyHash' | 'holder'>;

/**
 * RFC 7240 section 4.3: with `Prefer: wait=N` an answer may come when there is something new to say, or after N seconds.
 *
 * @param poll isAnswered: there is something to say already; wait: takes a place to wait, and gives no promise where there is none
 */
export async function waitIfPreferred(
  request: FastifyRequest,
  reply: FastifyReply,
  poll: { isAnswered: boolean; wait: (options: Wait) => Promise<unknown> | undefined },
): Promise<Polled<unknown>['waited'] | 'gone'> {
  const preferred = preferredWait(request.headers['prefer']);
  if (preferred === undefined) return 'not';
  const { seconds, untilEnded } = preferred;
  const applied = () => reply.header('Preference-Applied', appliedWait(preferred));
  if (poll.isAnswered || seconds === 0) {
    applied();
    return 'not';
  }
  const gone = endOfAnswer(request, reply, { halfClosed: 'ends' });
  const startedMs = performance.now();
  const { keyHash, accountId } = callerOf(request);
  const waiting = poll.wait({ seconds, untilEnded, gone, keyHash, holder: accountId });
  if (!waiting) return 'not';
  applied();
  await waiting;
  if (request.raw.socket.destroyed) return 'gone';
  // The client asked for this wait: it is no time that the answer took.
  request.arrivedMs += performance.now() - startedMs;
  return seconds === longestWaitSeconds && !gone.aborted ? 'a_minute' : 'some_time';
}
