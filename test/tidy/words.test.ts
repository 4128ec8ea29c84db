import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './source-files.ts';

/**
 * Words that were retired, each with the one that took its place: one thing has one name, in file names, code, comments, docs
 * and messages. Terms of the contract, stored names, settings, metrics and commands are exempt.
 */
const retired: readonly [word: RegExp, instead: string][] = [
  [/\blanes?\b|UsageLane/i, 'account writer'],
  [/KnownUsage/, 'UsageCache'],
  [/OpenUsage/, 'UsagePeriod'],
  [/settlement/i, 'corrections, closing'],
  [/\bceilings?\b/i, 'overage cap'],
  [/\bwithdrawals?\b/i, 'compensation, pending void'],
  [/\bkeepers?\b/i, 'reaper'],
  [/\bFollower\b|\bthe follower\b/, 'verifier'],
  [/\bstrangers?(?:Ms)?\b/i, 'unauthenticated client, another account'],
  [/\bpatiently\b/i, 'with retries'],
  [/\bEventStreams?\b|event-streams\.ts/, 'LiveStream, for Server-Sent Events'],
  [/\bRefusal as |class Refusal\b/, 'PageRefusal for a page, Refusal for the domain'],
  [/staff-looks\.ts|\b(?:StaffLook|recordLooks|listLooks)\b|kind: 'look'/, 'access record'],
  [/ports\/outage\.ts|\bOutages\(|: Outages\b|\boutageOf\b|\boutages\.of\b/, 'ServicePart, for what can be away'],
  [/session-windows\.ts/, 'hourly-limit-of-sessions.ts'],
  [/(?:console|projections)\S*\/search\.ts/, 'search-by-id-or-number.ts'],
  [/console\S*\/(?:routes|endpoints)\.ts/, 'page-routes.ts, json-endpoints.ts'],
];

/** Decisions and changes are history. */
const history = /^docs\/(?:decisions\/|CHANGELOG\.md)/;
const self = 'test/tidy/words.test.ts';

it('no retired word is left', () => {
  const files = execFileSync('git', ['ls-files', 'src', 'projections', 'test', 'docs', 'README.md'], { cwd: root })
    .toString()
    .trim()
    .split('\n')
    .filter((file) => /\.(?:ts|js|md|svg)$/.test(file) && !history.test(file) && file !== self);
  const found = files.flatMap((file) =>
    [file, ...readFileSync(join(root, file), 'utf8').split('\n')].flatMap((line, number) =>
      retired.filter(([word]) => word.test(line)).map(([, instead]) => `${file}:${number} ${instead}: ${line.trim()}`),
    ),
  );
  expect(found).toEqual([]);
});
