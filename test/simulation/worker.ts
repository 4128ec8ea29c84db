import { parentPort, workerData } from 'node:worker_threads';
import { hookModules } from './module-hooks.ts';
import type { Edit } from './module-hooks.ts';

/** A thread that runs histories one after the other: time and modules are replaced in it, and nowhere else. */
export interface Order {
  seed: number;
  only: readonly string[] | undefined;
  traces: boolean;
}

hookModules(workerData as readonly Edit[]);
const { install } = await import('./clock.ts');
const { simulate } = await import('./simulation.ts');
install();
// Simulated failures are many, and nobody reads where they come from.
Error.stackTraceLimit = 0;

parentPort?.on('message', ({ seed, only, traces }: Order) => {
  const print = traces ? (line: string) => parentPort?.postMessage(line) : undefined;
  void simulate(seed, { print, only: only && new Set(only) }).then((history) => parentPort?.postMessage(history));
});
