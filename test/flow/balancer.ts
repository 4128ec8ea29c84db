import { connect, createServer } from 'node:net';
import { listen } from '../support/listen.ts';

/** A load balancer before processes of the API: each connection goes to the next of them. */
export interface Balancer extends AsyncDisposable {
  url: string;
  /** New connections go to these addresses from now on; open ones stay where they are. */
  lead: (...urls: string[]) => void;
}

export async function startBalancer(...urls: string[]): Promise<Balancer> {
  let targets = urls;
  let taken = 0;
  const server = createServer((client) => {
    const { hostname, port } = new URL(targets[taken % targets.length] ?? '');
    taken += 1;
    const target = connect(Number(port), hostname);
    // Whichever side ends or breaks, the other learns of it.
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    client.pipe(target).pipe(client);
  });
  const { port, close } = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    lead: (...next) => {
      targets = next;
    },
    [Symbol.asyncDispose]: close,
  };
}
