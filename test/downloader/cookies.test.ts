import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { platforms } from '../../src/domain/platforms/platforms.ts';
import { cookiesOfHosts, fixedHosts } from '../../src/downloader/cookies.ts';
import { readPrivateText } from '../../src/system/private-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { cookie } from './cookie-line.ts';

describe('the cookies of a platform', () => {
  const hostsOf = (name: string) => fixedHosts(platforms.find((each) => each.name === name)?.hosts ?? []);
  const exported = [
    '# Netscape HTTP Cookie File',
    '# https://curl.se/docs/http-cookies.html',
    '',
    cookie('.youtube.com', 'of-youtube'),
    `#HttpOnly_${cookie('.youtube.com', 'of-youtube-http-only')}`,
    cookie('accounts.youtube.com', 'of-accounts'),
    cookie('.google.com', 'of-google'),
    cookie('.com', 'of-com'),
    cookie('notyoutube.com', 'of-a-look-alike'),
    cookie('.vimeo.com', 'of-vimeo'),
    'not a cookie',
  ].join('\r\n');

  it('are those of its own hosts alone', () => {
    const names = cookiesOfHosts(exported, hostsOf('youtube')).match(/of-[a-z-]+/g);
    expect(names).toEqual(['of-youtube', 'of-youtube-http-only', 'of-accounts']);
    expect(cookiesOfHosts(exported, hostsOf('vimeo')).split('\n')).toEqual([
      '# Netscape HTTP Cookie File',
      cookie('.vimeo.com', 'of-vimeo'),
      '',
    ]);
  });

  it.each([exported, '', '{"cookies": []}'])('are refused if none is left', (text) => {
    expect(() => cookiesOfHosts(text, hostsOf('tiktok'))).toThrow(/^it has no cookie for tiktok\.com, /);
  });

  it.each(platforms.map(({ name }) => name))('%s has hosts of its own', (name) => {
    expect(hostsOf(name).filter((host) => /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host))).toEqual(hostsOf(name));
    expect(hostsOf(name)).not.toEqual([]);
  });
});

describe('a file of secrets', () => {
  const path = (mode: number) => {
    const file = join(temporaryDirectory(), 'cookies.txt');
    writeFileSync(file, 'hidden', { mode: 0o600 });
    chmodSync(file, mode);
    return file;
  };

  it.each([0o600, 0o400])('is read with the mode %o, through a link too', (mode) => {
    const file = path(mode);
    const link = join(temporaryDirectory(), 'link');
    symlinkSync(file, link);
    expect([readPrivateText(file), readPrivateText(link)]).toEqual(['hidden', 'hidden']);
  });

  it.each([0o644, 0o640, 0o604, 0o660, 0o610])('is refused with the mode %o, and the remedy is told', (mode) => {
    const file = path(mode);
    expect(() => readPrivateText(file)).toThrow(
      `${file} has the mode 0${mode.toString(8)}: others can get at it. Run: chmod 600 ${file}`,
    );
  });

  it('is a file', () => {
    expect(() => readPrivateText(temporaryDirectory())).toThrow(/is not a file/);
  });
});
