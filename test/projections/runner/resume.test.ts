import { expect, it } from 'vitest';
import {
  type Checkpoint,
  readCheckpoint,
  type SeenEvent,
  writeCheckpoint,
} from '../../../projections/runner/checkpoints.ts';
import { readRefusal } from '../../../projections/runner/refused-readers.ts';
import { recordRefusals, resume, resumePosition } from '../../../projections/runner/resume.ts';
import { runProjection } from '../../../projections/runner/runner.ts';
import { usageAndJobs } from '../../../projections/usage-and-jobs.ts';
import { type EventStore, LogReplaced } from '../../../src/ports/event-store.ts';
import { positionOfEvent } from '../../../src/ports/log-position.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { openUsage, queueAll, writersOf } from '../../commands/usage-account.ts';
import { waitFor } from '../../support/wait-for.ts';
import { createReadModels, silent, testMacs } from '../read-models-under-test.ts';

const log = logUnderTest();
const { name } = usageAndJobs;

const checkpointOf = (seen: SeenEvent): Checkpoint => ({
  position: positionOfEvent(seen.position),
  eventPosition: seen.position,
  seen,
});

async function lastEvent(): Promise<SeenEvent> {
  const account = await openUsage(log.store);
  await queueAll(writersOf(log.store), account, [1, 2]);
  const { stream, revision, id, position } = (await log.store.read(account.stream, 0)).at(-1)!;
  return { stream, revision, id, position };
}

it('a reader goes on where the log has the event that it has read last, also when others follow', async () => {
  const seen = await lastEvent();
  expect(await resumePosition(log.store, name, checkpointOf(seen))).toEqual(positionOfEvent(seen.position));
  await lastEvent();
  expect(await resumePosition(log.store, name, checkpointOf(seen))).toEqual(positionOfEvent(seen.position));
});

it.each<[string, (seen: SeenEvent) => SeenEvent]>([
  ['has another event there', (seen) => ({ ...seen, id: newUuid() })],
  ['has the event at another position, as after an import', (seen) => ({ ...seen, position: seen.position - 1n })],
  ['has a shorter stream', (seen) => ({ ...seen, revision: seen.revision + 1 })],
  ['has no such stream', (seen) => ({ ...seen, stream: `${seen.stream}-of-another-log` })],
  ['ends before it', (seen) => ({ ...seen, position: 10n ** 18n })],
])('a reader is refused where the log %s', async (_, change) => {
  const seen = await lastEvent();
  await lastEvent();
  const resuming = resumePosition(log.store, name, checkpointOf(change(seen)));
  await expect(resuming).rejects.toThrow(LogReplaced);
  await expect(resuming).rejects.toThrow('"projections rebuild all --from-older-log" makes the read models anew');
});

it('a reader goes on behind what an earlier version has taken, which notes no event', async () => {
  const seen = await lastEvent();
  const { position: taken } = await lastEvent();
  const beyondEnd = { commit: taken + 1_000_000n, prepare: taken + 999_999n };
  const resumed = await resumePosition(log.store, name, { position: beyondEnd, eventPosition: taken, seen });
  expect(resumed).toEqual(positionOfEvent(taken));
});

it('the refusal is recorded for the whole installation, until the reader goes on', async () => {
  await using models = await createReadModels();
  const { pool } = models;
  const seen = await lastEvent();
  const other = checkpointOf({ ...seen, id: newUuid() });
  await writeCheckpoint(pool, name, other);
  await expect(resume({ pool, store: log.store }, name)).rejects.toThrow(LogReplaced);
  expect(await readRefusal(pool)).toMatch(/^the log does not have the event of the checkpoint of usage_and_jobs/);
  await writeCheckpoint(pool, name, checkpointOf(seen));
  await resume({ pool, store: log.store }, name);
  expect(await readRefusal(pool)).toBeUndefined();
  // A process that reads nothing finds it out too.
  await writeCheckpoint(pool, name, other);
  await recordRefusals({ pool, store: log.store }, [name, 'dispatch']);
  expect(await readRefusal(pool)).toContain('the checkpoint of usage_and_jobs');
});

it('no refusal is recorded for a checkpoint that was replaced meanwhile, as by a rebuild', async () => {
  await using models = await createReadModels();
  const { pool } = models;
  const seen = await lastEvent();
  const other = checkpointOf({ ...seen, id: newUuid() });
  const read: EventStore['read'] = async (...asked) => {
    const events = await log.store.read(...asked);
    await writeCheckpoint(pool, name, checkpointOf(seen));
    return events;
  };
  const store = { ...log.store, read };
  await writeCheckpoint(pool, name, other);
  await expect(resume({ pool, store }, name)).rejects.toThrow(LogReplaced);
  expect(await readRefusal(pool)).toBeUndefined();
  await writeCheckpoint(pool, name, other);
  await recordRefusals({ pool, store }, [name]);
  expect(await readRefusal(pool)).toBeUndefined();
});

it('a checkpoint of an earlier version has no event: the reader goes on, and notes the next one', async () => {
  await using models = await createReadModels();
  const { pool } = models;
  await openUsage(log.store);
  const head = (await log.store.headPosition()) ?? 0n;
  await pool.query('insert into checkpoints (name, position) values ($1, $2)', [name, String(head)]);
  const runner = runProjection(usageAndJobs, { store: log.store, macs: testMacs, pool, logger: silent });
  try {
    const { stream } = await openUsage(log.store);
    const seenNext = async () => (await readCheckpoint(pool, name))?.seen;
    const seen = await waitFor(seenNext, { what: 'the next event' });
    // In a log that other tests write as well, the batch may have theirs after it.
    const [[own], [newest]] = [await log.store.read(stream, 0), await log.store.read(seen.stream, seen.revision)];
    expect(seen).toMatchObject({ id: newest?.id, position: newest?.position });
    expect(seen.position).toBeGreaterThanOrEqual(own?.position ?? Infinity);
  } finally {
    await runner.close();
  }
});
