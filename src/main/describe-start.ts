import { relative } from 'node:path';
import { styleText } from 'node:util';
import type { Started } from './serve.ts';

/** Every line fits the oldest of terminals, unless an address or a folder of the user's own is longer. */
const columns = 80;

/** What a person sees when everything is ready; the colours are left out where standard output is no terminal. */
export function describeStart(started: Started): string {
  const { role, version, url, samplePlatformUrl, demo } = started;
  const isAll = role === 'all';
  const what = isAll ? `is ready on ${shortPath(started.dataDirectory)}` : `is ready: ${role}`;
  const addresses = {
    ...(url !== null &&
      (isAll || role === 'api' ? { API: `${url}/api/v1`, reference: `${url}/docs` } : { health: `${url}/readyz` })),
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
    strong('To paste into another terminal, in this folder; the key is shown this once:'),
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
