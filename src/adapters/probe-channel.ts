import type { Msg, NatsConnection, Subscription } from 'nats';
import { z } from 'zod';
import type { MetadataProbe, VideoFailure, VideoMetadata, VideoReference } from '../commands/ports.ts';
import { failureReasonNames } from '../domain/failure-reasons.ts';

const subject = 'probes';
const queueGroup = 'workers';

const question = z.object({ platform: z.string(), video_id: z.string(), url: z.string() });

const answer = z.discriminatedUnion('ok', [
  z.object({
    ok: z.literal(true),
    metadata: z.object({ title: z.string(), durationSeconds: z.int().min(0), thumbnail: z.string() }),
  }),
  z.object({ ok: z.literal(false), reason: z.enum(failureReasonNames), detail: z.string() }),
]);

type ProbeAnswer = { ok: true; metadata: VideoMetadata } | VideoFailure;

/** The API's side: asks any worker. No worker, or none in time, is a failure like any other. */
export function createProbeClient(connection: NatsConnection, { timeoutMs }: { timeoutMs: number }): MetadataProbe {
  return {
    probe: async ({ platform, videoId, canonicalUrl }) => {
      try {
        const asked = JSON.stringify({ platform, video_id: videoId, url: canonicalUrl });
        const reply = await connection.request(subject, asked, { timeout: timeoutMs });
        return answer.parse(reply.json());
      } catch (error) {
        return { ok: false, reason: 'platform_error', detail: `no worker has answered: ${String(error)}` };
      }
    },
  };
}

/** The worker's side: each question goes to one of the workers. */
export function answerProbes(
  connection: NatsConnection,
  probe: (video: VideoReference) => Promise<ProbeAnswer>,
): Subscription {
  const reply = async (message: Msg): Promise<void> => {
    const asked = question.parse(message.json());
    const found = await probe({ platform: asked.platform, videoId: asked.video_id, canonicalUrl: asked.url });
    message.respond(JSON.stringify(found));
  };
  return connection.subscribe(subject, {
    queue: queueGroup,
    callback: (error, message) => {
      // A question that cannot be read, or answered, is left to the asker's time limit.
      if (!error) reply(message).catch(() => undefined);
    },
  });
}
