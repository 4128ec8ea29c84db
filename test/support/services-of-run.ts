import { givenEngines } from './given-engines.ts';
import { auditFoundDivergence, unexpectedLines } from './log-lines.ts';
import type { Made } from './offers-of-run.ts';
import type { Environment, Service } from './service.ts';

/** A service that test files share. @returns what `serve --json` printed */
export async function makeService(settings: string): Promise<Made> {
  // Loaded by the first file that needs a service: most runs of a single file do not.
  const { startService } = await import('./service.ts');
  const service = await startService(JSON.parse(settings) as Environment, { postgres: 'of the run' });
  return { told: service, end: () => endService(service) };
}

/** In a log that somebody gave for all tests, other tests write what no service would. */
const expectedErrors = givenEngines.eventStoreUrl === undefined ? [] : [auditFoundDivergence];

/** @throws unless it ends in order, without an error in its log */
export async function endService(service: Service): Promise<void> {
  const code = await service.stop();
  const lines = unexpectedLines(service.log(), expectedErrors);
  await service[Symbol.asyncDispose]();
  if (code !== 0 || lines.length > 0)
    throw new Error(`a shared service ended with ${String(code)}:\n${lines.join('\n')}`);
}
