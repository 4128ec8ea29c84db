import { chmodSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OutgoingRouteFailed } from '../../src/downloader/egress/outgoing-route.ts';
import { cookiesOfPlatforms, requireUsableRules } from '../../src/main/roles/cookies-of-platforms.ts';
import { readConfig } from '../../src/main/settings/config.ts';
import { ConfigurationRefused } from '../../src/main/settings/configuration-refused.ts';
import { openPlatformRules } from '../../src/main/settings/platform-rules.ts';
import { outgoingProxyOf } from '../../src/main/settings/setting-kinds.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** The rules of a file, what was logged about them, and a way to change the file. */
function rulesOf(contents: unknown) {
  const directory = temporaryDirectory();
  const file = join(directory, 'rules.json');
  const logged: object[] = [];
  const log = (details: object) => void logged.push(details);
  const change = (text: string) => {
    // As editors and orchestrators do it: a new file takes the place of the old one.
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  change(typeof contents === 'string' ? contents : JSON.stringify(contents));
  const open = () => openPlatformRules({ PLATFORM_RULES_FILE: file }, { logger: { error: log, warn: log } });
  return { open, change, logged, directory };
}

function refusalOf(variables: Record<string, string>): string {
  try {
    readConfig(variables);
  } catch (error) {
    return String(error);
  }
  throw new Error('it was taken');
}

const off = (reason: string) => ({ platforms: { vimeo: { off: reason } } });
const item = { platform: 'youtube', videoId: 'dQw4w9WgXcQ' };

describe('the rules about platforms', () => {
  it('are none without a file', () => {
    const rules = openPlatformRules(
      { PLATFORM_RULES_FILE: undefined },
      { logger: { error: () => undefined, warn: () => undefined } },
    );
    expect([
      rules.whyOff('vimeo'),
      rules.whyBlocked(item),
      rules.routeOf('vimeo'),
      rules.cookiesFileOf('vimeo'),
    ]).toEqual([...[undefined, undefined, undefined, undefined]]);
  });

  it('are of one platform and one item each', () => {
    const blocked = [{ platform: 'youtube', video_id: item.videoId, reason: 'Notice 17.' }];
    const rules = rulesOf({ ...off('Down.'), blocked }).open();
    expect([rules.whyOff('vimeo'), rules.whyOff('youtube'), rules.whyOff('constructor')]).toEqual([
      'Down.',
      undefined,
      undefined,
    ]);
    expect(rules.whyBlocked(item)).toBe('Notice 17.');
    expect(rules.whyBlocked({ ...item, videoId: 'other' })).toBeUndefined();
    expect(rules.whyBlocked({ ...item, platform: 'vimeo' })).toBeUndefined();
  });

  it('change with the file, also where a link to it is turned', () => {
    const { open, change, directory } = rulesOf(off('Down.'));
    const rules = open();
    expect(rules.whyOff('vimeo')).toBe('Down.');
    change(JSON.stringify(off('Still down.')));
    expect(rules.whyOff('vimeo')).toBe('Still down.');
    writeFileSync(join(directory, 'other.json'), '{}');
    symlinkSync('other.json', join(directory, 'link'));
    renameSync(join(directory, 'link'), join(directory, 'rules.json'));
    expect(rules.whyOff('vimeo')).toBeUndefined();
  });

  it.each(['{', '{"blocked": "all"}', '{"platforms": {"vimoe": {}}}', '{"block": []}'])(
    'stay as they were when the file becomes %s, which is logged once',
    (text) => {
      const { open, change, logged } = rulesOf(off('Down.'));
      const rules = open();
      change(text);
      expect([rules.whyOff('vimeo'), rules.whyOff('vimeo')]).toEqual(['Down.', 'Down.']);
      expect(logged).toHaveLength(1);
      change('{}');
      expect(rules.whyOff('vimeo')).toBeUndefined();
    },
  );

  it.each([
    ['{', 'JSON'],
    ['{"platforms": {"vimoe": {"off": "Down."}}}', 'there is no platform "vimoe"'],
    ['{"platforms": {"vimeo": {"off": ""}}}', 'off'],
    ['{"platforms": {"vimeo": {"proxy": "http://a:b@c"}}}', 'proxy'],
    ['{"platforms": {"vimeo": {"source_address": "eth0"}}}', 'must be an IP address'],
    ['{"blocked": [{"platform": "vimeo", "video_id": "1"}]}', 'reason'],
  ])('%s ends the start', (text, fault) => {
    expect(() => rulesOf(text).open()).toThrow(ConfigurationRefused);
    expect(() => rulesOf(text).open()).toThrow(fault);
  });
});

describe('the secrets of a platform', () => {
  it('are in files beside the rules, which only their owner can read', () => {
    const { open, directory } = rulesOf({ platforms: { vimeo: { proxy_file: 'proxy', source_address: '192.0.2.1' } } });
    const file = join(directory, 'proxy');
    const rules = open();
    expect(() => rules.routeOf('vimeo')).toThrow(OutgoingRouteFailed);
    writeFileSync(file, 'http://user:p%40ss@proxy.example:3128\n', { mode: 0o600 });
    expect(rules.routeOf('vimeo')).toEqual({
      proxy: {
        host: 'proxy.example',
        port: 3128,
        authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
      },
      sourceAddress: '192.0.2.1',
    });
    chmodSync(file, 0o640);
    expect(() => rules.routeOf('vimeo')).toThrow(/mode 0640: .* chmod 600/);
    writeFileSync(file, 'p%40ss');
    chmodSync(file, 0o600);
    expect(() => rules.routeOf('vimeo')).toThrow(/must hold an address such as/);
    expect(() => rules.routeOf('vimeo')).not.toThrow(/p%40ss/);
  });

  it('end the start of a worker that cannot use them', () => {
    const { open, directory } = rulesOf({ platforms: { vimeo: { cookies_file: 'cookies.txt' } } });
    const rules = open();
    const start = (isWeak = false) => {
      requireUsableRules(rules, cookiesOfPlatforms(rules, { isWeak }), {});
    };
    const file = join(directory, 'cookies.txt');
    expect(start).toThrow(ConfigurationRefused);
    writeFileSync(file, '.vimeo.com\tTRUE\t/\tTRUE\t4102444800\tsession\thidden\n');
    chmodSync(file, 0o644);
    expect(start).toThrow(/vimeo: The cookies of vimeo cannot be used: .*chmod 600/);
    chmodSync(file, 0o600);
    expect(start).not.toThrow();
    expect(() => {
      start(true);
    }).toThrow(/no cookies are used in a weak sandbox/);
  });
});

describe('EGRESS_PROXY', () => {
  it.each([
    'proxy:3128',
    'socks5://proxy:1080',
    'https://proxy',
    'http://proxy/path',
    'http://u%zz:hidden@proxy',
    'http://',
  ])('refuses %s, and repeats nothing of it', (value) => {
    expect(outgoingProxyOf(value)).toBeUndefined();
    const refused = refusalOf({ EGRESS_PROXY: value });
    expect(refused).toMatch(/EGRESS_PROXY: must be an address such as/);
    expect(refused).not.toContain('hidden');
  });

  it('takes names and addresses, with and without a user', () => {
    expect(outgoingProxyOf('http://[2001:db8::1]:3128/')).toEqual({ host: '2001:db8::1', port: 3128 });
    expect(outgoingProxyOf('http://proxy.example')).toEqual({ host: 'proxy.example', port: 80 });
  });
});
