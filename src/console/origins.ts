/** The addresses under which browsers may use the console. */
export type Origins = ReturnType<typeof originsOf>;

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'];

/** @param publicUrl the service's address, as clients see it */
export function originsOf(publicUrl: string) {
  const { origin, protocol, hostname, port } = new URL(publicUrl);
  const isLoopback = loopbackNames.includes(hostname);
  const isSecure = protocol === 'https:';
  // On this machine people type one name of it or another.
  const origins = isLoopback
    ? loopbackNames.map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}`)
    : [origin];
  const hosts = origins.map((each) => new URL(each).host);
  return {
    /** The one that mails and links name. */
    own: origin,
    isSecure,
    /** Cookies may travel: over https, or without a network. */
    mayHoldSessions: isSecure || isLoopback,
    isHost: (host: string | undefined) => host !== undefined && hosts.includes(host.toLowerCase()),
    isOrigin: (given: string | undefined) => given !== undefined && origins.includes(given),
  };
}
