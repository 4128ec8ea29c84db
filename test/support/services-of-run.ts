/**
 * Services that test files share. Each is started for the first file that asks for its settings, and ends with the run, in whose
 * main process this file is loaded.
 */

import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from './listen.ts';
import { unexpectedLines } from './log-lines.ts';
import type { Environment, Service } from './service.ts';

export interface ServicesOfRun {
  /** Answers a service's settings in JSON with what `serve --json` printed. */
  url: string;
  /** @throws unless each service ends in order, without an error in its log */
  stop: () => Promise<void>;
}

export async function offerServices(): Promise<ServicesOfRun> {
  const services = new Map<string, Promise<Service>>();
  const serviceFor = async (request: IncomingMessage) => {
    const settings = await text(request);
    const known = services.get(settings);
    if (known) return known;
    const starting = startWith(JSON.parse(settings) as Environment);
    services.set(settings, starting);
    return starting;
  };
  const server = createServer((request, response) => {
    serviceFor(request).then(
      (service) => response.end(JSON.stringify(service)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.unref();
  const { port, close } = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      await close();
      await Promise.all([...services.values()].map(async (starting) => end(await starting)));
    },
  };
}

/** Loaded by the first file that needs a service: most runs of a single file do not. */
async function startWith(environment: Environment): Promise<Service> {
  const { startService } = await import('./service.ts');
  return startService(environment, { postgres: 'of the run' });
}

async function end(service: Service): Promise<void> {
  const code = await service.stop();
  const lines = unexpectedLines(service.log());
  await service[Symbol.asyncDispose]();
  if (code !== 0 || lines.length > 0)
    throw new Error(`a shared service ended with ${String(code)}:\n${lines.join('\n')}`);
}
