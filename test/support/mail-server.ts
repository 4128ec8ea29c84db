import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  messageId: string;
  to: string;
  /** Head and body, as they came. */
  raw: string;
}

/** What the server does with a mail: takes it (250), refuses it with a code, or breaks the connection off before it answers. */
export type Treatment = 'take' | 'cut' | number;

export interface TestMailServer extends AsyncDisposable {
  url: string;
  port: number;
  /** Every mail whose data came through to the end, in order, whatever was then done with it. */
  received: ReceivedMail[];
  /** Those that were answered with 250. */
  taken: ReceivedMail[];
  /** From now on. @param decide asked for each mail, after its data has come */
  treat: (decide: (mail: ReceivedMail) => Treatment | Promise<Treatment>) => void;
  close: () => Promise<void>;
}

/** A real SMTP server on loopback, without TLS, that asks for a password where one is given. */
export async function startMailServer(options: { port?: number; password?: string } = {}): Promise<TestMailServer> {
  const received: ReceivedMail[] = [];
  const taken: ReceivedMail[] = [];
  let decide: (mail: ReceivedMail) => Treatment | Promise<Treatment> = () => 'take';
  const server = new SMTPServer({
    disabledCommands: options.password === undefined ? ['AUTH', 'STARTTLS'] : ['STARTTLS'],
    authOptional: options.password === undefined,
    allowInsecureAuth: true,
    closeTimeout: 100,
    onAuth: ({ password }, _session, callback) => {
      if (password === options.password) callback(null, { user: 'service' });
      else callback(new Error('wrong password'));
    },
    onData: (stream, session, callback) => {
      const treat = async () => {
        const raw = await text(stream);
        const messageId = /^Message-ID: (\S+)/im.exec(raw)?.[1] ?? '';
        const mail = { messageId, to: session.envelope.rcptTo.map(({ address }) => address).join(), raw };
        received.push(mail);
        const treatment = await decide(mail);
        if (treatment === 'cut') {
          cutAll(server);
          return;
        }
        if (treatment === 'take') taken.push(mail);
        callback(treatment === 'take' ? null : Object.assign(new Error('not today'), { responseCode: treatment }));
      };
      treat().catch(callback);
    },
  });
  // A client that is killed leaves a broken connection behind, which is none of the server's faults.
  server.on('error', () => undefined);
  const listener = server.listen(options.port ?? 0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const user = options.password === undefined ? '' : `service:${encodeURIComponent(options.password)}@`;
  const close = async () => {
    cutAll(server);
    await new Promise<void>((resolve) => server.close(resolve));
  };
  return {
    url: `smtp://${user}127.0.0.1:${port}`,
    port,
    received,
    taken,
    treat: (treatment) => {
      decide = treatment;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function cutAll(server: SMTPServer): void {
  const connections = server.connections as unknown as Set<{ _socket: { destroy: () => void } }>;
  for (const { _socket: socket } of connections) socket.destroy();
}
