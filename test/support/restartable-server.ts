import { portOf } from './event-store.ts';

/** A server of the test's own, which goes and comes back at the same address. */
export interface RestartableServer {
  url: string;
  stop: () => Promise<unknown>;
  start: () => Promise<void>;
}

export async function restartable(
  launch: (at: { port?: number }) => Promise<{ url: string; stop: () => Promise<unknown> }>,
): Promise<RestartableServer> {
  let running = await launch({});
  const { url } = running;
  return {
    url,
    stop: () => running.stop(),
    start: async () => {
      running = await launch({ port: portOf(url) });
    },
  };
}
