import { parentPort, workerData } from 'node:worker_threads';
import { startCoverage } from './coverage.ts';
import { type Edit, hookModules } from './module-hooks.ts';
import { smallLimits } from './small-limits.ts';

/** A thread that runs histories one after the other: time and modules are replaced in it, and nowhere else. */
export interface Settings {
  /** For a planted bug. */
  edits: readonly Edit[];
  /** Measures which code runs. */
  covers: boolean;
}

/** For one history; `coverage` asks what has run so far. */
export interface Order {
  seed: number;
  only: readonly string[] | undefined;
  traces: boolean;
  keepsLog: boolean;
}

const { edits, covers } = workerData as Settings;
const coverage = covers ? await startCoverage() : undefined;
hookModules([...smallLimits, ...edits]);
const { install } = await import('./clock.ts');
const { simulate } = await import('./simulation.ts');
install();
// Simulated failures are many, and nobody reads where they come from.
Error.stackTraceLimit = 0;

parentPort?.on('message', (order: Order | 'coverage') => {
  if (order === 'coverage') return void coverage?.().then((ran) => parentPort?.postMessage(ran));
  const { seed, only, traces, keepsLog } = order;
  const print = traces ? (line: string) => parentPort?.postMessage(line) : undefined;
  void simulate(seed, { print, keepsLog, only: only && new Set(only) }).then((history) =>
    parentPort?.postMessage(history),
  );
});
