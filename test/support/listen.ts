import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

export interface Listening extends AsyncDisposable {
  port: number;
  /** Cuts the connections that are open. */
  close: () => Promise<void>;
}

/** Listens on a free port, of loopback unless another address of this machine is given. */
export async function listen(server: Server, host = '127.0.0.1'): Promise<Listening> {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket.on('error', () => undefined));
    socket.once('close', () => open.delete(socket));
  });
  await once(server.listen(0, host), 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  };
  return { port, close, [Symbol.asyncDispose]: close };
}
