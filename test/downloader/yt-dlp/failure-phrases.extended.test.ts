import { describe, expect, test } from 'vitest';
import { scaled } from '../../support/proof-scale.ts';
import { ownPlatformOfFile } from '../../support/sample-platform.ts';
import { engineComplaints } from './engine-complaints.ts';

describe('through the engine itself', () => {
  /** Pages of a form that no extractor expects; the last chooses words that would be the service's own. */
  const crashes = [[], { title: 'x', renditions: [{}] }, 7, { renditions: 'no space left on device' }];
  // A platform on which each item is refused in words of its own, and some crash their extractor.
  const own = ownPlatformOfFile((request, response) => {
    response.setHeader('Content-Type', 'application/json');
    const crash = /crash-(\d+)$/.exec(request.url ?? '')?.[1];
    if (crash !== undefined) return response.end(JSON.stringify(crashes[Number(crash)]));
    const [words] = engineComplaints[Number(/(\d+)$/.exec(request.url ?? '')?.[1])] ?? [''];
    return response.end(JSON.stringify({ title: 'x', refusal: words.replace(/^\[.*?\] \S+: /, '') }));
  });

  test('each complaint comes out as its reason', async () => {
    const source = own.platform.usualSource;
    const count = Math.min(scaled(4, engineComplaints.length), engineComplaints.length);
    const step = Math.floor(engineComplaints.length / count);
    const numbers = Array.from({ length: count }, (_, index) => index * step);
    const outcomes: unknown[] = [];
    const probe = async (number: number) => {
      const video = own.videoOf(`x-${number}`);
      const result = await source.probe(video, { signal: new AbortController().signal });
      outcomes[numbers.indexOf(number)] = [engineComplaints[number]?.[0], result.ok ? 'ok' : result.reason];
    };
    for (let done = 0; done < numbers.length; done += 4) await Promise.all(numbers.slice(done, done + 4).map(probe));
    // The extractor expected all of them, and no words of a platform stand for a fault of the service.
    const expected = numbers.map((number): unknown => {
      const [words, reason] = engineComplaints[number] ?? ['', ''];
      return [words, reason === 'internal_error' ? 'video_unavailable' : reason];
    });
    expect(outcomes).toEqual(expected);
  });

  test('a page that crashes the extractor finds it too old for the platform', async () => {
    const source = own.platform.usualSource;
    for (const index of crashes.keys()) {
      const video = own.videoOf(`crash-${index}`);
      const result = await source.probe(video, { signal: new AbortController().signal });
      expect(result).toMatchObject({ ok: false, reason: 'platform_error', fault: 'service' });
    }
  });
});
