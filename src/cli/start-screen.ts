import { relative } from 'node:path';
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { lineStart } from './progress-bar.ts';

/** A service that is ready. */
export interface Started {
  /** The role of the process, or `all`. */
  role: string;
  version: string;
  /** Null for a process without an API or health port. */
  url: string | null;
  /** Address of the staff console, without its path; null for a process without one. */
  staffUrl: string | null;
  dataDirectory: string;
  samplePlatformUrl: string | null;
  /** Account and key of a demo, and the paths of links that sign in once: to its console, and as an admin to that of staff. */
  demo: {
    accountId: string;
    key: string;
    keyId: string;
    signInPath: string | null;
    staffSignInPath: string | null;
  } | null;
  /** Sentences for the person who started it: parts that wait, and why; parts that are old. */
  notices: readonly string[];
}

/** The standard output of `serve`: one screen for a person, one document for a program. */
export function startScreen({ json, stdout }: { json: boolean; stdout: WriteStream }) {
  const clear = stdout.isTTY ? lineStart : '';
  const say = (text: string) => stdout.write(`${clear}${text}\n`);
  return {
    /** Shows a step of the start while it waits: on a terminal alone, and nothing of it stays. */
    progress: (step: string) => {
      // A longer line would be broken into two, of which only one goes away again.
      if (!json && stdout.isTTY) stdout.write(`${clear}${step} …`.slice(0, clear.length + stdout.columns - 1));
    },
    ready: (started: Started) => {
      say(json ? JSON.stringify(started) : describeStart(started));
    },
    stopped: () => {
      if (!json) say('Reeltally has stopped.');
    },
  };
}

/** Every line fits the oldest of terminals, unless an address or a folder of the user's own is longer. */
const columns = 80;

/** The screen of a service that is ready; it has no colours where standard output is no terminal. */
function describeStart(started: Started): string {
  const { role, version, url, staffUrl, samplePlatformUrl, demo } = started;
  const isAll = role === 'all';
  const what = isAll ? `is ready on ${shortPath(started.dataDirectory)}` : `is ready: ${role}`;
  const addresses = {
    ...(url !== null &&
      (isAll || role === 'api'
        ? { console: `${url}${demo?.signInPath ?? '/console'}`, API: `${url}/api/v1`, reference: `${url}/docs` }
        : { health: `${url}/readyz` })),
    ...(staffUrl !== null && { staff: `${staffUrl}${demo?.staffSignInPath ?? '/staff'}` }),
    ...(isAll && samplePlatformUrl !== null && { films: `${samplePlatformUrl}/ (sample platform)` }),
  };
  return [
    ...wrapped(`Reeltally ${version} ${what}. Ctrl-C stops it.`).map(strong),
    ...Object.entries(addresses).map(([name, address]) => `  ${name.padEnd(11)} ${address}`),
    ...(demo && url !== null
      ? linesToPaste({ url, key: demo.key, videoUrl: `${samplePlatformUrl ?? ''}/watch/bars` })
      : []),
    ...started.notices.flatMap((notice) => wrapped(notice).map((line) => styleText('yellow', line))),
  ].join('\n');
}

const strong = (text: string) => styleText('bold', text);

/** Each works as it stands in any shell. The key stands in the first alone: what runs later shows it to nobody. */
function linesToPaste({ url, key, videoUrl }: { url: string; key: string; videoUrl: string }): string[] {
  const curl = 'curl -sSH "Authorization: Bearer $REELTALLY_KEY"';
  return [
    strong('Paste into another terminal, in this folder; the key is shown only once:'),
    `  export REELTALLY_KEY=${key}`,
    `  export REELTALLY_URL=${url}`,
    `  npm run -s reeltally -- download ${videoUrl} -o bars.mp4`,
    `  ${curl} $REELTALLY_URL/api/v1/credits`,
    `  ${curl} \\`,
    `    "$REELTALLY_URL/api/v1/video/metadata?url=${videoUrl}"`,
  ];
}

function shortPath(path: string): string {
  const fromHere = relative('', path);
  return fromHere.startsWith('..') || fromHere === '' ? path : fromHere;
}

/** Broken between words. */
function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last.length + word.length < columns) lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines;
}
