import { addAbortListener } from 'node:events';
import {
  AckPolicy,
  type Consumer,
  type ConsumerInfo,
  DiscardPolicy,
  headers,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type MsgHdrs,
  nanos,
  type NatsConnection,
  NatsError,
  RetentionPolicy,
  StorageType,
} from 'nats';
import type { Logger } from 'pino';
import { z } from 'zod';
import {
  downloadQueue,
  type JobMessage,
  type JobQueue,
  jobRevisionIn,
  type ReceivedJob,
} from '../../ports/job-queue.ts';
import { inSpan, type Tracer } from '../../ports/tracing.ts';

const streamName = 'DOWNLOADS';
const subject = downloadQueue;
const consumerName = 'workers';

/** Messages with the same id within this time are deduplicated. It is the server's default, stated because the sweeper needs it. */
const duplicateWindowMs = 120_000;
/** Long enough to claim a job, even while the log is slow. Afterwards the claim protects the job. */
const acknowledgeWithinMs = 30_000;
/** The server's minimum. */
const pullExpiresMs = 5_000;

const jobMessage = z.object({
  token: z.string().min(1),
  usage_stream: z.string().min(1),
  usage_revision: z.int().min(0),
});

interface QueueDepth {
  /** Messages that were not delivered to a worker yet. */
  pending: number;
  /** Messages delivered to a worker that has not claimed the job yet. */
  unacknowledged: number;
  /** Those of them that were delivered more than once. */
  redelivered: number;
}

export interface JobQueueOptions {
  /** On how many servers of a cluster the stream is stored, if it is made here. */
  replicas: number;
  logger: Logger;
  tracer?: Tracer | undefined;
}

export interface WatchedJobQueue extends JobQueue {
  depth(): Promise<QueueDepth>;
  /** How many servers of a cluster should have a copy of the queue, and are away or behind. */
  missingReplicas(): Promise<number>;
}

/** The work queue on JetStream: at least once, in any order. Lost or repeated messages do no harm. */
export function createJobQueue(connection: NatsConnection, { tracer, ...making }: JobQueueOptions): WatchedJobQueue {
  const jetStream = connection.jetstream();
  let consumer: Promise<Consumer> | undefined;
  let prepared: Promise<void> | undefined;
  let manager: Promise<JetStreamManager> | undefined;

  /** Creates the stream again on a server that lost its data; the sweeper refills it. */
  const withStream = async <Value>(work: (jetStream: JetStreamClient) => Promise<Value>): Promise<Value> => {
    try {
      await (prepared ??= ensureStream(connection, making));
      return await work(jetStream);
    } catch {
      consumer = undefined;
      await (prepared = ensureStream(connection, making));
      return await work(jetStream);
    }
  };

  /** @returns undefined without a stream: reading the numbers does not create it */
  const readInfo = async (): Promise<ConsumerInfo | undefined> => {
    manager ??= connection.jetstreamManager().catch((error: unknown) => {
      manager = undefined;
      throw error;
    });
    return (await manager).consumers.info(streamName, consumerName).catch((error: unknown) => {
      if (error instanceof NatsError && error.api_error?.code === 404) return undefined;
      throw error;
    });
  };

  return {
    publish: async (message, messageId, traceparent) => {
      const payload = JSON.stringify({
        token: message.token,
        usage_stream: message.usageStream,
        usage_revision: message.usageRevision,
      });
      await inSpan(tracer, publishing(traceparent), async (parent) => {
        // A process without tracing still passes on the trace of its caller.
        const options = { msgID: messageId, ...(parent !== undefined && { headers: headersOf(parent) }) };
        await withStream((client) => client.publish(subject, payload, options));
      });
    },
    next: (stopping, wait = true) =>
      withStream(async (client) => {
        if (stopping.aborted) return undefined;
        const waiting = async () => pull(await (consumer ??= client.consumers.get(streamName, consumerName)), stopping);
        const received = wait ? await waiting() : await pullAtOnce(client);
        return received ? receivedJob(received) : undefined;
      }),
    depth: async () => {
      const info = await readInfo();
      return {
        pending: info?.num_pending ?? 0,
        unacknowledged: info?.num_ack_pending ?? 0,
        redelivered: info?.num_redelivered ?? 0,
      };
    },
    missingReplicas: async () => {
      const { replicas = [] } = (await readInfo())?.cluster ?? {};
      return replicas.filter(({ offline, current }) => offline || !current).length;
    },
  };
}

const publishing = (parent: string | undefined) => ({
  name: `publish ${subject}`,
  kind: 'producer' as const,
  parent,
  attributes: {
    'messaging.system': 'nats',
    'messaging.destination.name': subject,
    'messaging.operation.name': 'publish',
    'messaging.operation.type': 'send',
  },
});

function headersOf(traceparent: string): MsgHdrs {
  const made = headers();
  made.set('traceparent', traceparent);
  return made;
}

async function pull(consumer: Consumer, stopping: AbortSignal): Promise<JsMsg | undefined> {
  const messages = await consumer.fetch({ max_messages: 1, expires: pullExpiresMs });
  using _stopping = addAbortListener(stopping, () => messages.stop());
  for await (const message of messages) return message;
  return undefined;
}

const noMessages = '404';

async function pullAtOnce(client: JetStreamClient): Promise<JsMsg | undefined> {
  try {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- what replaces it waits for at least a second
    return await client.pull(streamName, consumerName);
  } catch (error) {
    if (error instanceof NatsError && error.code === noMessages) return undefined;
    throw error;
  }
}

async function ensureStream(
  connection: NatsConnection,
  { replicas, logger }: Pick<JobQueueOptions, 'replicas' | 'logger'>,
): Promise<void> {
  const manager = await connection.jetstreamManager();
  const wanted = {
    subjects: [subject],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    duplicate_window: nanos(duplicateWindowMs),
    num_replicas: replicas,
  };
  // The consumer has as many replicas as the stream.
  const { config } = await manager.streams
    .info(streamName)
    .catch(() => manager.streams.add({ name: streamName, ...wanted }));
  // The user of the service need not have the right to change a stream.
  if (config.num_replicas !== replicas)
    logger.warn(
      { stream: streamName, replicas: config.num_replicas, NATS_REPLICAS: replicas },
      'the queue has another number of replicas than NATS_REPLICAS says: docs/operations.md, "Replicas of the queue"',
    );
  const consumer = {
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(acknowledgeWithinMs),
    max_deliver: -1,
    // Postponed messages count too: the waiting jobs of one account must not block those of others.
    max_ack_pending: 1_000_000,
  };
  try {
    await manager.consumers.add(streamName, { durable_name: consumerName, ...consumer });
  } catch {
    // An earlier version may have created it.
    await manager.consumers.update(streamName, consumerName, consumer);
  }
}

/** @returns undefined for a message that is not ours; it is never delivered again */
function receivedJob(received: JsMsg): ReceivedJob | undefined {
  const message = parse(received);
  if (!message) {
    received.term('not a job');
    return undefined;
  }
  return {
    message,
    traceparent: received.headers?.has('traceparent') ? received.headers.get('traceparent') : undefined,
    jobRevision: jobRevisionIn(received.headers?.get('Nats-Msg-Id') ?? ''),
    deliveries: received.info.deliveryCount,
    acknowledge: () => received.ack(),
    keepAlive: () => received.working(),
    postpone: (delayMs) => received.nak(delayMs),
  };
}

function parse(received: JsMsg): JobMessage | undefined {
  try {
    const { token, usage_stream: usageStream, usage_revision: usageRevision } = jobMessage.parse(received.json());
    return { token, usageStream, usageRevision };
  } catch {
    return undefined;
  }
}
