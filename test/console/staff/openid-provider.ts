import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Provider } from 'oidc-provider';
import { freePort } from '../../../src/embedded/free-port.ts';

export interface OpenIdProvider extends AsyncDisposable {
  issuer: string;
  /** Whoever signs in next, and what the provider says about this person. Undefined: who cancels. */
  person: { subject: string; claims: Readonly<Record<string, unknown>> } | undefined;
  /** Goes through the provider's pages as a browser does. @returns the address at which it comes back to us */
  visit: (address: string) => Promise<string>;
  /** It answers nobody, and again. */
  stop: () => Promise<void>;
  restart: () => Promise<void>;
  /** Answers all requests with this status in place of its own answers, or `never`; undefined: no more. */
  failWith: (status: number | 'never' | undefined) => void;
}

export const openIdClient = { id: 'reeltally-staff', secret: 'a secret that both of them know' };

interface Options {
  redirectUri: string;
  authMethod?: 'client_secret_basic' | 'client_secret_post' | 'none';
  /** Claims stand in the ID token too, not only in the answer about the person. */
  inIdToken?: boolean;
  /** It publishes another key than the one that it signs with, as somebody between it and us would have to. */
  publishesOtherKey?: boolean;
  /** Claims that it says for a scope of its own. */
  ownScope?: { name: string; claims: readonly string[] };
}

/** A real OpenID Connect provider in this process, whose person has nothing to type. */
export async function startOpenIdProvider(options: Options): Promise<OpenIdProvider> {
  const {
    redirectUri,
    authMethod = 'client_secret_basic',
    inIdToken = false,
    ownScope,
    publishesOtherKey = false,
  } = options;
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const [{ privateKey }, other] = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2_048 })) as [
    KeyPairKeyObjectResult,
    KeyPairKeyObjectResult,
  ];
  const otherKeys = { keys: [{ ...other.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] };
  const claimsOf = new Map<string, Readonly<Record<string, unknown>>>();
  const ownClaims = ownScope && { [ownScope.name]: [...ownScope.claims] };
  const scopes = ['openid', 'email', 'profile', ...(ownScope ? [ownScope.name] : [])];
  const provider = new Provider(issuer, {
    adapter: Rows,
    clients: [
      {
        client_id: openIdClient.id,
        ...(authMethod !== 'none' && { client_secret: openIdClient.secret }),
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: authMethod,
      },
    ],
    ...(authMethod === 'client_secret_post' && { clientAuthMethods: ['client_secret_post'] }),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['roles', 'groups'], ...ownClaims },
    scopes: [...scopes, 'offline_access'],
    conformIdTokenClaims: !inIdToken,
    cookies: { keys: ['of a test'] },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: () => '/interaction' },
    pkce: { required: () => true },
    ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 60, Session: 60, Grant: 60 },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...claimsOf.get(id) }),
    }),
    loadExistingGrant: async ({ oidc }: { oidc: { session: { accountId: string } } }) => {
      const grant = new provider.Grant({ clientId: openIdClient.id, accountId: oidc.session.accountId });
      grant.addOIDCScope(scopes.join(' '));
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  let failure: number | 'never' | undefined;
  const state: Pick<OpenIdProvider, 'person'> = { person: undefined };
  let server: Server;
  const open = async () => {
    server = createServer((request, response) => {
      if (failure === 'never') return;
      if (failure !== undefined) response.writeHead(failure).end('failed');
      else if (publishesOtherKey && request.url === '/jwks')
        response.setHeader('content-type', 'application/json').end(JSON.stringify(otherKeys));
      else if (!request.url?.startsWith('/interaction')) answer(request, response);
      else if (!state.person) void provider.interactionFinished(request, response, { error: 'access_denied' });
      else {
        claimsOf.set(state.person.subject, state.person.claims);
        void provider.interactionFinished(request, response, { login: { accountId: state.person.subject } });
      }
    });
    await once(server.listen(port, '127.0.0.1'), 'listening');
  };
  const stop = async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  await open();
  return Object.assign(state, {
    issuer,
    visit: (address: string) => throughProvider(issuer, address),
    stop,
    restart: async () => {
      if (!server.listening) await open();
    },
    failWith: (status: number | 'never' | undefined) => {
      failure = status;
    },
    [Symbol.asyncDispose]: stop,
  });
}

type Stored = Record<string, unknown> & { uid?: string; grantId?: string };

/** Where the provider keeps codes and sessions: in memory. */
class Rows {
  readonly #rows = new Map<string, Stored>();

  upsert(id: string, row: Stored): Promise<void> {
    this.#rows.set(id, row);
    return Promise.resolve();
  }

  find(id: string): Promise<Stored | undefined> {
    return Promise.resolve(this.#rows.get(id));
  }

  findByUid(uid: string): Promise<Stored | undefined> {
    return Promise.resolve([...this.#rows.values()].find((row) => row.uid === uid));
  }

  consume(id: string): Promise<void> {
    const row = this.#rows.get(id);
    if (row) row['consumed'] = Math.floor(Date.now() / 1_000);
    return Promise.resolve();
  }

  destroy(id: string): Promise<void> {
    this.#rows.delete(id);
    return Promise.resolve();
  }

  revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, row] of this.#rows) if (row.grantId === grantId) this.#rows.delete(id);
    return Promise.resolve();
  }
}

/** Follows redirects with a new jar of cookies until one leaves the provider. */
async function throughProvider(issuer: string, address: string): Promise<string> {
  const jar = new Map<string, string>();
  let next = address;
  for (let hop = 0; hop < 10; hop += 1) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
    for (const each of response.headers.getSetCookie()) {
      const [pair = ''] = each.split(';');
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the provider answers ${response.status}: ${await response.text()}`);
    next = new URL(location, next).href;
    if (!next.startsWith(issuer)) return next;
  }
  throw new Error('the provider redirects without end');
}
