import { describe, expect, test } from 'vitest';
import { expectRefusal, runIn } from '../cli/command-line.ts';
import { clockOffset } from '../support/clock-offset.ts';
import { startInstallation } from '../support/installation.ts';
import { jsonLines } from '../support/log-lines.ts';
import { createMigratedDatabase } from '../support/postgres.ts';
import type { Environment } from '../support/service.ts';

/** REELTALLY_CLOCK_OFFSET_SECONDS, beside real books and beside those of tests. */
const seconds = 40 * 86_400;
const shifted = clockOffset(seconds);

const refusal = new RegExp(
  `REELTALLY_CLOCK_OFFSET_SECONDS is ${String(seconds)}\\. .*for demos and tests only\\. .*real books.*Nothing was changed\\.`,
);
const warning = `the clock of billing periods is shifted by ${String(seconds)} s (REELTALLY_CLOCK_OFFSET_SECONDS)`;

describe('an installation whose first start had no shifted clock', () => {
  test('refuses every process and command with one, and changes nothing', async () => {
    await using installation = await startInstallation();
    await installation.startRole('projector');
    const { accountId } = await installation.openAccount('enterprise');
    const before = await installation.readLog();
    for (const role of ['dispatcher', 'api'] as const)
      await expect(installation.startRole(role, shifted)).rejects.toThrow(refusal);
    const run = runIn({ ...installation.environment, ...shifted });
    for (const words of [
      ['invoices', 'issue-due'],
      ['accounts', 'cap', accountId, '100'],
    ])
      expectRefusal(await run(...words), refusal);
    expect(await installation.readLog()).toEqual(before);
  });

  test('refuses one after its Postgres was lost too', async () => {
    await using installation = await startInstallation();
    await installation.startRole('projector');
    await installation.openAccount('enterprise');
    await using fresh = await createMigratedDatabase();
    await expect(installation.startRole('dispatcher', { ...shifted, DATABASE_URL: fresh.url })).rejects.toThrow(
      refusal,
    );
  });
});

test('an installation whose first start had a shifted clock allows any clock, and warns of it', async () => {
  await using installation = await startInstallation();
  const { environment } = installation;
  expectRefusal(await runIn({ ...environment, ...shifted })('invoices', 'issue-due'), refusal);
  const warningsOf = async (given: Environment) => {
    const process = await installation.startRole('projector', given);
    await process.stop();
    return jsonLines<{ level: number; msg: string }>(process.log())
      .filter(({ level, msg }) => level === 40 && msg.includes('clock'))
      .map(({ msg }) => msg);
  };
  expect(await warningsOf(shifted)).toEqual([warning]);
  expect(await warningsOf({})).toEqual([]);
  expect(await warningsOf(clockOffset(-5))).toHaveLength(1);
  const issued = await runIn({ ...environment, ...shifted })('invoices', 'issue-due');
  expect(issued.code).toBe(0);
});
