import { describe, expect, it } from 'vitest';
import type { TimelineRow } from '../../projections/job-timeline.ts';
import { chargeChanges, describeEvent, eventSentence, reasonText } from '../../src/documents/job-story.ts';
import { releaseReasons } from '../../src/domain/download-job-events.ts';

const ada = { type: 'staff', id: 'Ada', role: 'operator', reason: 'the film was cut' } as const;
const time = '2026-11-21T10:00:00.000Z';
const row = (type: TimelineRow['type'], data: object, more: Partial<TimelineRow> = {}): TimelineRow => ({
  position: '0',
  time,
  type,
  stream: 's',
  revision: 0,
  event_id: 'charge',
  actor: { type: 'system', id: 'worker' },
  cents: null,
  data,
  ...more,
});

describe('a download, in words', () => {
  it.each<[TimelineRow, string]>([
    [row('DownloadCreditDebited', { ordinal: 3 }), 'a credit of the plan, as download 3 of the period'],
    [row('OverageCharged', { ordinal: 4, cents: 25 }), '$0.25 beyond the plan, as download 4 of the period'],
    [
      row('DownloadQueued', { platform: 'youtube', video_id: 'abc', format: 'video', quality: '720' }),
      'video in 720 of youtube abc',
    ],
    [row('DownloadVoided', { cents: 25 }), '$0.25: the client was told that nothing was queued'],
    [row('DownloadVoided', { cents: 0 }), 'a credit: the client was told that nothing was queued'],
    [
      row('ChargeWaived', { cents: 20, reference: 'case-7' }, { actor: ada }),
      '$0.20 under case-7 by Ada: the film was cut',
    ],
    [row('ChargeWaived', { cents: 20, reference: 'service_failure' }), '$0.20 under service_failure'],
    [row('DownloadCreditReturned', {}), 'a credit: the service was at fault'],
    [row('JobClaimed', { attempt: 2, worker_id: 'wrk_1' }), 'attempt 2, by wrk_1'],
    [
      row('JobReleased', { reason: 'lease_expired', not_before: time }),
      `Its worker was lost. It may be tried again from ${time.slice(0, 19).replace('T', ' ')} UTC on.`,
    ],
    [row('JobCompleted', { file_mime: 'video/mp4', file_size_bytes: 7 }), 'video/mp4, 7 bytes'],
    [
      row('JobCompleted', { file_mime: 'video/mp4', file_size_bytes: 7, title: 'A film' }),
      'video/mp4, 7 bytes (“A film”)',
    ],
    [row('JobFailed', { reason: 'private_video', fault: 'video' }), 'The video is private.'],
    [
      row('JobFailed', { reason: 'internal_error', fault: 'service' }),
      'The download failed inside the service. The service was at fault.',
    ],
    [row('FileExpired', {}), 'no more links to the file are made'],
    [row('JobStarted', {}), ''],
  ])('$0.type', (event, text) => {
    expect(describeEvent(event)).toBe(text);
  });

  it('says each thing once, with its title in front', () => {
    const charged = row('OverageCharged', { ordinal: 4, cents: 25 });
    expect(eventSentence(charged)).toBe('Charged $0.25 beyond the plan, as download 4 of the period');
    expect(eventSentence(row('JobStarted', {}))).toBe('Started');
    expect(eventSentence(row('AccountOpened', {}))).toBe('');
  });

  it('has a sentence for each reason', () => {
    for (const reason of releaseReasons) expect(reasonText(reason)).toMatch(/\.$/);
  });

  it('has what was given back: in the period, and by credit notes, of this charge alone', () => {
    const note = (number: number, ...named: string[]) => ({
      data: {
        number,
        account_id: 'acc',
        reference: 'CASE-8',
        invoice_number: 2,
        line: 1,
        charges: named.map((id, index) => ({ token: id, charge_event_id: id, cents: 5 + index })),
        currency: 'USD' as const,
        cents: 100,
      },
      eventId: 'note',
      revision: 1,
      position: 0n,
      issuedAt: time,
      actor: ada,
    });
    const rows = [
      row('OverageCharged', { ordinal: 4, cents: 25 }, { cents: 25 }),
      row('ChargeWaived', { cents: 20, reference: 'case-7' }, { cents: -20, actor: ada, event_id: 'waiver' }),
    ];
    expect(chargeChanges(rows, [note(1, 'another', 'charge'), note(2, 'another'), note(3)])).toEqual([
      { time, cents: 20, text: 'Waived $0.20 under case-7 by Ada: the film was cut' },
      {
        time,
        cents: 6,
        text: 'Credited $0.06 by credit note 1 of invoice 2 under CASE-8 by Ada: the film was cut',
      },
    ]);
  });
});
