import type { OutgoingRoute } from './outgoing-route.ts';

interface Routes {
  /** The operator's route of all platforms. */
  general: OutgoingRoute;
  /** The route of a platform's own. */
  routeOf: (platform: string) => OutgoingRoute | undefined;
}

/**
 * A platform's own route holds for all that it names. That of all platforms is for the public web: an allowed destination may be one
 * that only this machine reaches.
 */
export const chooseRoute =
  ({ general, routeOf }: Routes) =>
  (platform: string | undefined, isPublic: boolean): OutgoingRoute => {
    const own = platform === undefined ? undefined : routeOf(platform);
    const { proxy, sourceAddress } = isPublic ? general : {};
    return { proxy: own?.proxy ?? proxy, sourceAddress: own?.sourceAddress ?? sourceAddress };
  };
