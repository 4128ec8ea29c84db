import { hostsOfPlatform, type PlatformConfiguration, platformNames } from '../../domain/platforms/platforms.ts';
import { cookiesOfHosts, fixedHosts } from '../../downloader/cookies.ts';
import { readPrivateText } from '../../system/private-files.ts';
import { ConfigurationRefused } from '../settings/configuration-refused.ts';
import type { DownloadRules } from '../settings/platform-rules.ts';

type CookiesOf = (platform: string) => string | undefined;

/** Reads the file anew for each attempt, so that a new one needs no restart. */
export function cookiesOfPlatforms(
  rules: DownloadRules,
  { isWeak, ...configuration }: PlatformConfiguration & { isWeak: boolean },
): CookiesOf {
  return (platform) => {
    const file = rules.cookiesFileOf(platform);
    if (file === undefined) return undefined;
    if (isWeak)
      throw new Error(
        `${file}: no cookies are used in a weak sandbox, where downloads of other platforms could read them.`,
      );
    const hosts = fixedHosts(hostsOfPlatform(platform, configuration));
    try {
      return cookiesOfHosts(readPrivateText(file), hosts);
    } catch (error) {
      throw new Error(`The cookies of ${platform} cannot be used: ${error instanceof Error ? error.message : ''}`, {
        cause: error,
      });
    }
  };
}

/** Finds at the start what would fail each attempt. @throws {ConfigurationRefused} */
export function requireUsableRules(
  rules: DownloadRules,
  cookiesOf: CookiesOf,
  configuration: PlatformConfiguration,
): void {
  for (const platform of platformNames(configuration)) {
    try {
      rules.routeOf(platform);
      cookiesOf(platform);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ConfigurationRefused(`PLATFORM_RULES_FILE: ${platform}: ${why}`);
    }
  }
}
