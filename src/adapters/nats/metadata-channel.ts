import type { NatsConnection } from 'nats';
import { z } from 'zod';
import { failureReasonNames } from '../../domain/failure-reasons.ts';
import type { MetadataProbe, ProbeResult, VideoReference } from '../../ports/videos.ts';
import { type Answering, answerRequests } from './request-reply.ts';

const subject = 'probes';

const request = z.object({ platform: z.string(), video_id: z.string(), url: z.string() });

const answer = z.discriminatedUnion('ok', [
  z.object({
    ok: z.literal(true),
    metadata: z.object({
      title: z.string(),
      durationSeconds: z.int().min(0),
      thumbnail: z.string(),
      // A worker of an older version does not say it.
      downloadRefusal: z.enum(failureReasonNames).nullable().default(null),
    }),
  }),
  z.object({ ok: z.literal(false), reason: z.enum(failureReasonNames), detail: z.string() }),
]);

/** The API's side: sends a metadata request to any worker. No answer in time is a failure like any other. */
export function createProbeClient(connection: NatsConnection, { timeoutMs }: { timeoutMs: number }): MetadataProbe {
  return {
    probe: async ({ platform, videoId, canonicalUrl }) => {
      try {
        const asked = JSON.stringify({ platform, video_id: videoId, url: canonicalUrl });
        const reply = await connection.request(subject, asked, { timeout: timeoutMs });
        return answer.parse(reply.json());
      } catch (error) {
        return {
          ok: false,
          reason: 'platform_error',
          detail: `no worker has answered: ${String(error)}`,
          nobodyAnswered: true,
        };
      }
    },
  };
}

/** The worker's side: each request goes to one of the workers. */
export function answerProbes(
  connection: NatsConnection,
  read: (video: VideoReference) => Promise<ProbeResult>,
): Answering {
  return answerRequests(connection, subject, (message) => {
    const { platform, video_id: videoId, url: canonicalUrl } = request.parse(message);
    return read({ platform, videoId, canonicalUrl });
  });
}
