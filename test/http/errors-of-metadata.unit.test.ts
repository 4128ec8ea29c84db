import { describe, expect, it } from 'vitest';
import { failureReasonNames } from '../../src/domain/failure-reasons.ts';
import { ApiError } from '../../src/http/errors.ts';

const textOf = (reason: (typeof failureReasonNames)[number]) =>
  new ApiError('metadata_unavailable', { reason }).message;

describe('why there is no metadata', () => {
  it('is told without a word of a download that nobody has asked for', () => {
    for (const reason of failureReasonNames) {
      // These two are known beforehand: about what the service downloads.
      if (reason !== 'too_large' && reason !== 'too_long') expect(textOf(reason)).not.toMatch(/download/i);
    }
  });

  it('says whether it helps to ask again', () => {
    expect(textOf('internal_error')).toBe('The metadata request failed inside the service. Try again');
    expect(textOf('private_video')).toBe('The video is private. Repeating the request does not help');
    expect(textOf('live_stream')).toMatch(/ended\. Repeating the request does not help now$/);
  });
});
