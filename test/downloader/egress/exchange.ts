import { connect } from 'node:net';

/** Sends bytes and gives everything that comes back, until the connection ends. */
export function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let heard = '';
    socket.setEncoding('latin1').on('data', (data: string) => (heard += data));
    socket.on('error', () => undefined).on('close', () => resolve(heard));
  });
}
