/** An OpenID Connect provider, which says who somebody is. */
export interface IdentityProvider {
  /** Its name for people: the host of its address. */
  name: string;
  /** @returns the address to which the browser goes @throws {ProviderAway} */
  begin(attempt: SignInAttempt): Promise<string>;
  /**
   * @param answer the address with which the browser came back
   * @throws {ProviderAway} if it does not answer
   * @throws {ProviderRefused} if the answer is not one to this attempt, or says no
   */
  finish(answer: URL, attempt: SignInAttempt): Promise<ProviderPerson>;
}

/** What binds an answer of the provider to the browser that was sent there: each is used for one attempt. */
export interface SignInAttempt {
  /** Our page to which the browser comes back. */
  redirectUri: string;
  state: string;
  nonce: string;
  /** PKCE (RFC 7636). */
  codeVerifier: string;
}

export interface ProviderPerson {
  issuer: string;
  /** The provider's name of the person, which never changes. */
  subject: string;
  /** Null if the provider does not say it, or has not verified it. */
  email: string | null;
  /** The address that it says and has not verified. */
  unverifiedEmail: string | null;
  /** Of the claim of roles: one for each of its values. */
  roles: readonly string[];
}

export class ProviderAway extends Error {
  override readonly name = 'ProviderAway';
}

export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused';
}
