/** An address of NATS, taken apart for the client, which reads neither credentials nor options from one. */
export interface NatsAddress {
  servers: string[];
  credentials: { user: string; pass: string } | { token: string } | undefined;
  /** Undefined for a connection without TLS. */
  tls: { caFile?: string } | undefined;
}

const form = /^(?<protocol>nats|tls):\/\/(?:(?<login>.*)@)?(?<hosts>[^@/?#]+)\/?(?:\?tlsCAFile=(?<caFile>[^&#]+))?$/;

/**
 * Reads `nats://user:password@host:4222` or `tls://…`. A cluster's address names its hosts with commas between them. The option
 * `tlsCAFile` of an address with TLS names the file with the authority of the servers' certificates.
 *
 * @returns undefined for anything else
 */
export function readNatsAddress(given: string): NatsAddress | undefined {
  const { protocol, login, hosts = '', caFile } = form.exec(given)?.groups ?? {};
  const servers = hosts.split(',');
  const canBeRead = servers.every((server) => URL.canParse(`http://${server}`) && !server.startsWith(':'));
  if (!canBeRead || (caFile !== undefined && protocol !== 'tls')) return undefined;
  try {
    return {
      servers,
      credentials: login === undefined ? undefined : credentialsOf(login),
      tls: protocol === 'tls' ? { ...(caFile !== undefined && { caFile: decodeURIComponent(caFile) }) } : undefined,
    };
  } catch {
    // A percent sign that encodes nothing.
    return undefined;
  }
}

/** A name without a password is a token. */
function credentialsOf(login: string): NatsAddress['credentials'] {
  const [name = '', ...password] = login.split(':').map(decodeURIComponent);
  return password.length === 0 ? { token: name } : { user: name, pass: password.join(':') };
}
