import type { Pool } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';

import type { Admission, Admissions } from '../../../projections/admission/admission.ts';
import { insertKey, letTimePass, pretendAdmitted, readWindow } from '../key-windows.ts';
import type { TestKey } from '../key-windows.ts';
import { readModelsOfFile } from '../read-models-under-test.ts';

const models = readModelsOfFile();
let pool: Pool;
let admissions: Admissions;
beforeAll(() => {
  pool = models.pool;
  admissions = models.openAdmissions();
});

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

async function admit({ keyHash }: TestKey): Promise<Admission> {
  const admission = await admissions.admit({ keyHash });
  if (!admission) throw new Error('the key is not known');
  return admission;
}

const outcomeOf = async (key: TestKey) => (await admit(key)).outcome;

describe('a place that is given back', () => {
  const placeOf = async (key: TestKey) => {
    const { place } = await admit(key);
    if (!place) throw new Error('the request was not admitted');
    return place;
  };

  it('is free again, once', async () => {
    const key = await insertKey(pool, { hourlyLimit: 2 });
    const places = [await placeOf(key), await placeOf(key)];
    expect(await outcomeOf(key)).toBe('rate_limited');
    expect(await admissions.giveBack(places[0]!)).toBe(true);
    expect(await outcomeOf(key)).toBe('admitted');
    expect(await outcomeOf(key)).toBe('rate_limited');
  });

  it('leaves the others as they are, in their order', async () => {
    const key = await insertKey(pool, { hourlyLimit: 10 });
    await pretendAdmitted(pool, key, [3_000_000, 2_000_000, 1_000_000]);
    const before = await readWindow(pool, key);
    const place = await placeOf(key);
    await placeOf(key);
    expect(await admissions.giveBack(place)).toBe(true);
    expect((await readWindow(pool, key)).agoSeconds).toEqual([...before.agoSeconds, 0]);
  });

  it('is one of several that were counted at the same instant', async () => {
    const key = await insertKey(pool, { hourlyLimit: 5 });
    const together = await Promise.all([admit(key), admit(key), admit(key)]);
    expect(new Set(together.map(({ place }) => place?.instantMs)).size).toBe(1);
    for (const [index, { place }] of together.entries()) {
      expect(await admissions.giveBack(place!)).toBe(true);
      expect((await readWindow(pool, key)).agoSeconds).toHaveLength(2 - index);
    }
    expect(await admissions.giveBack(together[0].place!)).toBe(false);
  });

  it('is found although the row has another base by then', async () => {
    const key = await insertKey(pool, { hourlyLimit: 5 });
    await placeOf(key);
    await letTimePass(pool, key, 13 * dayMs);
    const earlier = await admit(key);
    await pool.query(
      `update api_key_window set base = base + 17 * interval '1 millisecond', admitted_ms =
         array(select instant - 17 from unnest(admitted_ms) instant) where key_id = $1`,
      [key.keyId],
    );
    expect(await admissions.giveBack(earlier.place!)).toBe(true);
    expect((await readWindow(pool, key)).agoSeconds).toEqual([]);
  });

  it('is no other one, once its own has left the window', async () => {
    const key = await insertKey(pool, { hourlyLimit: 5 });
    const place = await placeOf(key);
    await letTimePass(pool, key, 2 * hourMs);
    await placeOf(key);
    expect(await admissions.giveBack(place)).toBe(false);
    expect((await readWindow(pool, key)).agoSeconds).toEqual([0]);
  });

  it('over two processes, any number at once: what is left is what was not given back', async () => {
    const key = await insertKey(pool, { hourlyLimit: 500 });
    const processes = [admissions, models.openAdmissions()];
    const given = await Promise.all(
      Array.from({ length: 400 }, async (_, index) => {
        const process = processes[index % 2]!;
        const admitted = await process.admit(key);
        return index % 4 < 3 && admitted?.place ? process.giveBack(admitted.place) : 'kept';
      }),
    );
    expect(given.filter((outcome) => outcome === true)).toHaveLength(300);
    expect((await readWindow(pool, key)).agoSeconds).toHaveLength(100);
  });
});
