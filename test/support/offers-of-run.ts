import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from './listen.ts';

/**
 * Things that test files share, and that end with the run. Each is made in vitest's main process for the first file that asks for
 * it with its settings.
 */

export interface Made {
  /** What the files are told of it, as JSON. */
  told: object;
  /** @throws unless it ends in order */
  end: () => Promise<void>;
}

/** The things that can be asked for, by name. */
export type Makers = Readonly<Record<string, (settings: string) => Promise<Made>>>;

/** @returns the address where files ask, by a POST of the settings to the thing's name */
export async function offer(makers: Makers): Promise<{ url: string; stop: () => Promise<void> }> {
  const offered = new Map<string, Promise<Made>>();
  const madeFor = async (request: IncomingMessage): Promise<Made> => {
    const name = request.url?.slice(1) ?? '';
    const settings = await text(request);
    const make = makers[name];
    if (!make) throw new Error(`nobody makes ${name}`);
    const key = `${name} ${settings}`;
    const made = offered.get(key) ?? make(settings);
    offered.set(key, made);
    return made;
  };
  const server = createServer((request, response) => {
    madeFor(request).then(
      ({ told }) => response.end(JSON.stringify(told)),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
    );
  });
  server.unref();
  const { port, close } = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      await close();
      const made = await Promise.allSettled(offered.values());
      const ends = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value.end()] : []));
      await Promise.all(ends);
    },
  };
}

/** Asks from a test file. @throws with the message of whoever makes it */
export async function askFor<Told>(name: string, settings: object = {}): Promise<Told> {
  const { TEST_OFFERS = '' } = process.env;
  const response = await fetch(`${TEST_OFFERS}/${name}`, { method: 'POST', body: JSON.stringify(settings) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Told;
}
