import { expect, it } from 'vitest';
import { apiKeys } from '../../projections/api-keys.ts';
import { createSignInLinks } from '../../src/adapters/postgres/sign-in-links.ts';
import { createStaffLinks } from '../../src/adapters/postgres/staff-links.ts';
import { prepareDemo } from '../../src/demo/prepare-demo.ts';
import { readConfig } from '../../src/main/settings/config.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { createReadModels, testMacs } from '../projections/read-models-under-test.ts';
import { waitFor } from '../support/wait-for.ts';

const log = logUnderTest();

it('a demo starts however late its key comes into force, as on a slow machine', async () => {
  await using models = await createReadModels();
  const { pool } = models;
  const now = () => new Date().toISOString();
  const links = { macs: testMacs, randomBits };
  const preparing = prepareDemo(
    {
      store: log.store,
      pool,
      macs: testMacs,
      plans: readConfig({}).plans,
      now,
      newId,
      newUuid,
      randomBits,
      signInLinks: createSignInLinks(pool, links),
      staffLinks: createStaffLinks(pool, links),
    },
    undefined,
  );
  const ended = preparing.then(
    () => 'prepared',
    (error: unknown) => String(error),
  );
  const beganMs = performance.now();
  // Longer than any command waits.
  await waitFor(() => performance.now() - beganMs > 12_000, { what: 'twelve seconds without a projector' });
  models.run(log.store, apiKeys);
  expect(await ended).toBe('prepared');
  expect((await preparing).key).toMatch(/^rtk_/);
});
