import * as openid from 'openid-client';
import { email as emailAddress } from '../domain/plain-text.ts';
import {
  type IdentityProvider,
  ProviderAway,
  type ProviderPerson,
  ProviderRefused,
  type SignInAttempt,
} from '../ports/identity-provider.ts';

/** An OpenID Connect provider, by openid-client. */

interface Options {
  /** Address of the provider, as its tokens name it. */
  issuer: string;
  clientId: string;
  /** Undefined for a public client, whom PKCE alone protects. */
  clientSecret: string | undefined;
  /** The scopes of the request, separated by spaces. Some providers send roles only for a scope of their own. */
  scope: string;
  /** The claim with the roles of a person, a text or a list of texts: its name, or the way to it with dots. */
  roleClaim: string;
}

const timeoutSeconds = 5;

export function createIdentityProvider(options: Options): IdentityProvider {
  const { issuer, clientId, clientSecret, scope, roleClaim } = options;
  const server = new URL(issuer);
  let discovered: Promise<openid.Configuration> | undefined;
  /** What the provider says about itself is read once, as soon as it can be. */
  const configuration = (): Promise<openid.Configuration> => {
    discovered ??= openid
      .discovery(server, clientId, undefined, authentication(clientSecret), {
        timeout: timeoutSeconds,
        execute: [
          // Also of a token that came from the provider itself, whose connection may not be the one that it seems.
          openid.enableNonRepudiationChecks,
          // For a provider on this machine, from whom nothing travels over a network.
          // eslint-disable-next-line @typescript-eslint/no-deprecated -- only marked so that it stands out; there is no other way
          ...(isLoopback(server) ? [openid.allowInsecureRequests] : []),
        ],
      })
      .catch((error: unknown) => {
        discovered = undefined;
        throw new ProviderAway('the OpenID provider cannot be asked about itself', { cause: error });
      });
    return discovered;
  };
  return {
    name: server.host,
    begin: async ({ redirectUri, state, nonce, codeVerifier }) => {
      const address = openid.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
      return address.href;
    },
    finish: async (answer, attempt) => {
      const config = await configuration();
      try {
        return await askWho(config, { answer, attempt, roleClaim });
      } catch (error) {
        throw isRefusal(error)
          ? new ProviderRefused('the OpenID provider signs nobody in', { cause: error })
          : new ProviderAway('the OpenID provider does not answer', { cause: error });
      }
    },
  };
}

async function askWho(
  config: openid.Configuration,
  { answer, attempt, roleClaim }: { answer: URL; attempt: SignInAttempt; roleClaim: string },
): Promise<ProviderPerson> {
  const tokens = await openid.authorizationCodeGrant(config, answer, {
    expectedState: attempt.state,
    expectedNonce: attempt.nonce,
    pkceCodeVerifier: attempt.codeVerifier,
    idTokenExpected: true,
  });
  const token = tokens.claims();
  if (!token) throw new ProviderRefused('the answer has no ID token');
  const hasUserInfo = config.serverMetadata().userinfo_endpoint !== undefined;
  // Some providers put roles and addresses only there.
  const asked = hasUserInfo && (claimOf(token, roleClaim) === undefined || token['email'] === undefined);
  const more = asked ? await openid.fetchUserInfo(config, tokens.access_token, token.sub) : {};
  const claims: Readonly<Record<string, unknown>> = { ...more, ...token };
  // A claim of the ID token may be an object that has something else in it.
  const roles = claimOf(token, roleClaim) ?? claimOf(more, roleClaim);
  return { issuer: token.iss, subject: token.sub, ...emailOf(claims), roles: textsOf(roles) };
}

/**
 * A claim by its name, which may have dots (`https://example.com/roles`), or inside of another one: `realm_access.roles`. Names in
 * the way may have dots as well: `resource_access.reeltally.example.roles`.
 */
function claimOf(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  for (let dot = name.indexOf('.'); dot > 0; dot = name.indexOf('.', dot + 1)) {
    const inside = Object.hasOwn(claims, name.slice(0, dot)) ? claims[name.slice(0, dot)] : undefined;
    if (typeof inside !== 'object' || inside === null) continue;
    const found = claimOf(inside as Readonly<Record<string, unknown>>, name.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

function emailOf(claims: Readonly<Record<string, unknown>>): Pick<ProviderPerson, 'email' | 'unverifiedEmail'> {
  const { data: address = null } = emailAddress.safeParse(claims['email']);
  // Some providers write their booleans as texts.
  const said = claims['email_verified'];
  const isVerified = (typeof said === 'string' ? said.toLowerCase() !== 'false' : said) !== false;
  return { email: isVerified ? address : null, unverifiedEmail: isVerified ? null : address };
}

function textsOf(claim: unknown): string[] {
  const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  return values.filter((value) => typeof value === 'string');
}

/** As the provider takes it; `client_secret_basic` is the one that all have (OpenID Connect Discovery 1.0, section 3). */
function authentication(secret: string | undefined): openid.ClientAuth {
  if (secret === undefined) return openid.None();
  const [basic, post] = [openid.ClientSecretBasic(secret), openid.ClientSecretPost(secret)];
  return (as, ...rest) => {
    const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic') ? basic : post;
    authenticate(as, ...rest);
  };
}

const isLoopback = ({ hostname }: URL): boolean => ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);

/** Everything but a connection that fails and a provider that answers with a failure of its own. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ProviderRefused) return true;
  if (error instanceof openid.ResponseBodyError) return error.status < 500;
  if (error instanceof openid.AuthorizationResponseError)
    return error.error !== 'temporarily_unavailable' && error.error !== 'server_error';
  if (!(error instanceof openid.ClientError)) return false;
  return !['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'].includes(error.code ?? '');
}
