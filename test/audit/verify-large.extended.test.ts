import { once } from 'node:events';
import { expect, it } from 'vitest';
import { projections } from '../../projections/all.ts';
import { catchUp } from '../../projections/runner/wait-for-checkpoint.ts';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { readProcessFile } from '../../src/system/processes.ts';
import { appendUsedAccount } from '../projections/generated-account.ts';
import { installationOfFile } from '../support/installation.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { scaled } from '../support/proof-scale.ts';
import { spawnCommand } from '../support/service.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';

/** The audit of a long log by the command itself: some thousand events to see that it works, long a million. */
const accounts = scaled(5, 2_080);
const downloadsEach = 100;
/** The audit keeps what is not finished: here, a hundred charges of each open period, and a fifth of all jobs. */
const mostMemoryMib = 1_000;

const installation = installationOfFile();

it('verifies a long log within bounds of memory', async () => {
  const { environment } = installation;
  const store = connectEventStore({ url: environment.EVENTSTORE_URL });
  const pool = openPatientPool(environment.DATABASE_URL, { max: 2 });
  try {
    await using projector = await installation.startRole('projector');
    for (let written = 0; written < accounts; written += 1) await appendUsedAccount(store, downloadsEach);
    for (const projection of projections) expect(await catchUp({ store, pool }, projection, patienceMs)).toBe(true);
    expect(projector.pid).toBeGreaterThan(0);
    const { code, stdout, peakMib, seconds } = await verify(environment);
    expect(code, stdout).toBe(0);
    const { events } = JSON.parse(stdout) as { events: number };
    expect(events).toBe(accounts * (4 + downloadsEach * 2 + (downloadsEach / 5) * 15));
    const perSecond = Math.round(events / seconds);
    console.log(
      `verified ${String(events)} events in ${seconds.toFixed(1)} s (${String(perSecond)}/s), peak memory ${String(peakMib)} MiB`,
    );
    expect(peakMib).toBeLessThan(mostMemoryMib);
  } finally {
    await store.close();
    await pool.end();
  }
});

async function verify(environment: Readonly<Record<string, string>>) {
  const startedMs = performance.now();
  const child = spawnCommand(['ledger', 'verify', '--json'], environment);
  let stdout = '';
  let peakMib = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const closed = once(child, 'close') as Promise<[number | null]>;
  const look = () => {
    if (child.exitCode !== null) return true;
    const peak = /VmHWM:\s+(\d+) kB/.exec(readProcessFile(child.pid ?? 0, 'status') ?? '')?.[1];
    if (peak !== undefined) peakMib = Math.round(Number(peak) / 1024);
    return false;
  };
  await waitFor(look, { what: 'the audit to end' });
  const [code] = await closed;
  return { code, stdout, peakMib, seconds: (performance.now() - startedMs) / 1000 };
}
