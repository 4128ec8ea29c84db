import { hash } from 'node:crypto';
import { staffIdOf } from '../../../commands/ids/reference-ids.ts';
import { recordSignIn } from '../../../commands/staff.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { type StaffRole, staffRoles } from '../../../domain/staff-events.ts';
import {
  type IdentityProvider,
  ProviderAway,
  ProviderRefused,
  type SignInAttempt,
} from '../../../ports/identity-provider.ts';
import { askingCookie, nextOf, readAsking } from '../../sign-in/asking-browser.ts';
import { staffCookies } from '../../sign-in/cookies.ts';
import { type Answer, missing, PageRefusal, redirect, type Visit } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { startSession } from './sign-in.ts';

/**
 * Signing in by OpenID Connect: authorization code with PKCE, state and nonce. All three follow from one secret, which only the
 * browser's cookie has: nothing is stored for somebody who never comes back.
 */

const base = '/staff';
const recordMs = 5_000;

export async function begin(visit: Visit, dependencies: StaffDependencies): Promise<Answer> {
  const { origins } = dependencies;
  // The provider sends the browser back to our own name, and the cookie belongs to the name at which it was set.
  const ownName = new URL(origins.own).host;
  const { host = ownName } = visit.request.headers;
  if (host.toLowerCase() !== ownName) return redirect(new URL(visit.request.url, origins.own).href);
  const secret = dependencies.randomBits(32).toString('base64url');
  const to = await asking(providerOf(dependencies).begin(attemptOf(secret, dependencies)));
  const asked = { secret, next: nextOf(visit.query, base) };
  return redirect(to, askingCookie(asked, staffCookies(origins.isSecure)));
}

export async function finish(visit: Visit, dependencies: StaffDependencies): Promise<Answer> {
  const provider = providerOf(dependencies);
  const asked = readAsking(visit, staffCookies(dependencies.origins.isSecure), base);
  if (!asked) throw notOfThisBrowser();
  const answer = new URL(visit.request.url, dependencies.origins.own);
  const person = await asking(provider.finish(answer, attemptOf(asked.secret, dependencies)));
  const role = highestOf(person.roles);
  const { issuer, subject, email, unverifiedEmail: unverified_email } = person;
  const staffId = staffIdOf(person);
  if (!role) {
    // Sessions from before have the role that the provider has taken away.
    await dependencies.sessions.endAll(staffId);
    throw new PageRefusal(
      403,
      'You have no role here',
      `${provider.name} knows you, but gives you none of the roles ${staffRoles.join(', ')}. Ask an admin of ${provider.name} for one.`,
    );
  }
  const request = { correlationId: visit.request.id, timeoutMs: recordMs };
  const signIn = { by: 'provider', role, email, unverified_email, issuer, subject } as const;
  const member = await recordSignIn(dependencies, { staffId, signIn, ...request });
  if (isRefused(member))
    throw new PageRefusal(
      403,
      'You were removed',
      'An admin of this service has removed you from its staff. Nobody is signed in.',
    );
  return await startSession(visit, dependencies, { staffId, member });
}

function providerOf({ provider }: StaffDependencies): IdentityProvider {
  if (!provider) throw missing();
  return provider;
}

function attemptOf(secret: string, { origins }: StaffDependencies): SignInAttempt {
  const part = (name: string) => hash('sha256', `${name} ${secret}`, 'base64url');
  return {
    redirectUri: `${origins.own}/staff/sign-in/provider`,
    state: part('state'),
    nonce: part('nonce'),
    codeVerifier: part('verifier'),
  };
}

async function asking<Said>(answer: Promise<Said>): Promise<Said> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ProviderAway)
      throw new PageRefusal(
        503,
        'The provider does not answer',
        `Nobody can be signed in by it at the moment. ${again}`,
      );
    if (error instanceof ProviderRefused) throw notOfThisBrowser();
    throw error;
  }
}

/** Each role may do what those before it may. */
const highestOf = (claimed: readonly string[]): StaffRole | undefined =>
  staffRoles.findLast((role) => claimed.includes(role));

const again = 'Go to the sign-in page and try again.';

const notOfThisBrowser = () =>
  new PageRefusal(
    403,
    'You are not signed in',
    `The provider did not sign you in, or its answer is too old, was used already, or belongs to another browser. ${again}`,
  );
