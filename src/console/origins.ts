/** The addresses under which browsers may use the console. */
export interface Origins {
  /** The one that mails and links name. */
  own: string;
  isSecure: boolean;
  /** Cookies may travel: over https, or without a network. */
  mayHoldSessions: boolean;
  isHost: (host: string | undefined) => boolean;
  isOrigin: (origin: string | undefined) => boolean;
}

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'];

/** @param publicUrl the service's address, as clients see it */
export function originsOf(publicUrl: string): Origins {
  const { origin, protocol, hostname, port } = new URL(publicUrl);
  const isLoopback = loopbackNames.includes(hostname);
  const isSecure = protocol === 'https:';
  // On this machine people type one name of it or another.
  const origins = isLoopback
    ? loopbackNames.map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}`)
    : [origin];
  const hosts = origins.map((each) => new URL(each).host);
  return {
    own: origin,
    isSecure,
    mayHoldSessions: isSecure || isLoopback,
    isHost: (host) => host !== undefined && hosts.includes(host.toLowerCase()),
    isOrigin: (given) => given !== undefined && origins.includes(given),
  };
}
