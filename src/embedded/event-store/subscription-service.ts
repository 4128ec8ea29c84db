/**
 * Subscriptions: history first, then new events, in one loop that reads the next page of the log when the reader has taken the
 * last one. A slow reader costs no memory beyond its position in the log.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import streamMessages, { type ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { Checkpoints, type EndOfCatchUp, type Place } from './checkpoints.ts';
import type { EventLog } from './event-log.ts';
import type { Page, StoredEvent } from './event-rows.ts';
import type { GroupCommit } from './group-commit.ts';
import type { ReadRequest } from './read-request.ts';
import type { ResponseStream } from './response-stream.ts';
import { firstVisibleRevision, tombstoneRevision } from './stream-state.ts';
import { resolved, visibleSinceMs, visibleStream } from './visible-events.ts';
import { streamDeletedError } from './wire-errors.ts';

export interface Subscriptions {
  log: EventLog;
  commits: GroupCommit;
  endOfCatchUp: EndOfCatchUp;
}

/**
 * The least time between two deliveries. A reader at the end of the log gets a new event at once, and while more come quickly, those
 * of this time together: each delivery wakes the reader's process.
 */
const paceMs = 4;

/** The source of a subscription's events, and the sending of each. */
interface Feed {
  /** The next events; none at the end. */
  nextPage: (isCatchingUp: boolean) => Page;
  /** @returns whether the reader is still there */
  deliver: (event: StoredEvent) => Promise<boolean>;
  beforeCaughtUp: () => Promise<boolean>;
}

/** Runs until the reader goes. @throws for a tombstoned stream */
export async function subscribe(
  subscriptions: Subscriptions,
  request: ReadRequest,
  responses: ResponseStream,
): Promise<void> {
  const { log } = subscriptions;
  const feed =
    request.stream === undefined
      ? feedOfAll(subscriptions, request, responses)
      : feedOfStream(log, request, request.stream, responses);
  const confirmed = new streamMessages.ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID());
  if (!(await responses.send(new streamMessages.ReadResp().setConfirmation(confirmed)))) return;
  await follow(subscriptions, feed, responses);
}

async function follow({ commits }: Subscriptions, feed: Feed, responses: ResponseStream): Promise<void> {
  let isCatchingUp = true;
  let isStale = true;
  let deliveredMs = -Infinity;
  const forget = commits.onCommit(() => {
    isStale = true;
  });
  try {
    while (!responses.isEnded) {
      isStale = false;
      const { events, isLast } = feed.nextPage(isCatchingUp);
      for (const event of events) if (!(await feed.deliver(event))) return;
      if (!isLast) continue;
      if (events.length > 0) deliveredMs = performance.now();
      if (isCatchingUp) {
        isCatchingUp = false;
        const caughtUp = new streamMessages.ReadResp().setCaughtUp(new streamMessages.ReadResp.CaughtUp());
        if (!(await feed.beforeCaughtUp()) || !(await responses.send(caughtUp))) return;
      }
      await responses.sleepUntil(
        () => isStale,
        (wake) => commits.onCommit(wake),
      );
      const restMs = deliveredMs + paceMs - performance.now();
      if (restMs > 0) await sleep(restMs);
    }
  } finally {
    forget();
  }
}

function feedOfStream(log: EventLog, request: ReadRequest, name: string, responses: ResponseStream): Feed {
  const atStart = visibleStream(log, name);
  let after =
    request.from === 'start' ? -1n : request.from === 'end' ? BigInt(atStart?.lastRevision ?? -1) : request.from;
  return {
    nextPage: (isCatchingUp) => {
      const state = log.streams.find(name);
      if (state === undefined) return { events: [], isLast: true };
      // Metadata hide events of the history only. New events are always sent.
      if (isCatchingUp) {
        const hidden = BigInt(state.isSoftDeleted ? state.lastRevision : firstVisibleRevision(state) - 1);
        if (hidden > after) after = hidden;
      }
      const sinceMs = isCatchingUp ? visibleSinceMs(state, Date.now()) : 0;
      return log.rows.pageOfStream(state.key, { from: after + 1n, to: tombstoneRevision }, 'forwards', sinceMs);
    },
    deliver: async (event) => {
      after = event.revision;
      if (!(await responses.send(resolved(log, event, request)))) return false;
      if (event.revision === tombstoneRevision) throw streamDeletedError(name);
      return true;
    },
    beforeCaughtUp: () => Promise.resolve(true),
  };
}

function feedOfAll({ log, endOfCatchUp }: Subscriptions, request: ReadRequest, responses: ResponseStream): Feed {
  const { filter } = request;
  const from = placeOf(request, log.rows.headPosition());
  let after = from === undefined ? 0n : from.prepare < from.commit ? from.commit - 1n : from.commit;
  const checkpoints = filter && new Checkpoints({ filter, from, head: log.rows.headPosition(), endOfCatchUp });
  const send = (checkpoint: Place | undefined) =>
    checkpoint === undefined ? Promise.resolve(true) : responses.send(checkpointResponse(checkpoint));
  return {
    nextPage: () => log.rows.pageOfAll({ from: after + 1n, to: tombstoneRevision }, 'forwards'),
    deliver: async (event) => {
      after = event.position;
      const matches = filter?.matches(event) ?? true;
      if (matches && !(await responses.send(resolved(log, event, request)))) return false;
      return send(checkpoints?.afterEvent(event.position, matches));
    },
    beforeCaughtUp: () => send(checkpoints?.beforeCaughtUp(after)),
  };
}

/** @returns undefined for the start of the log */
function placeOf({ from, isBeforeFrom }: ReadRequest, head: bigint): Place | undefined {
  if (from === 'start') return undefined;
  if (from === 'end') return { commit: head, prepare: head };
  return { commit: from, prepare: isBeforeFrom ? 0n : from };
}

function checkpointResponse({ commit, prepare }: Place): ReadResp {
  // Unsigned, as in the protocol: -1 is the largest number.
  const checkpoint = new streamMessages.ReadResp.Checkpoint()
    .setCommitPosition(String(BigInt.asUintN(64, commit)))
    .setPreparePosition(String(BigInt.asUintN(64, prepare)));
  return new streamMessages.ReadResp().setCheckpoint(checkpoint);
}
