import type { Started } from './serve.ts';

/** What a person sees when everything is ready. */
export function describeStart({ role, url, samplePlatformUrl, dataDirectory, demo, notices }: Started): string {
  const addresses = [
    ...(url === null
      ? []
      : [role === 'all' || role === 'api' ? `  API             ${url}/api/v1` : `  health          ${url}/readyz`]),
    ...(samplePlatformUrl !== null && role === 'all' ? [`  sample platform ${samplePlatformUrl}/`] : []),
    `  data directory  ${dataDirectory}`,
  ];
  const head = role === 'all' ? 'Reeltally is ready.' : `Reeltally's ${role} is ready.`;
  return [
    '',
    head,
    '',
    ...addresses,
    ...(demo ? ['', ...describeDemo(demo)] : []),
    '',
    ...notices,
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

const explanations: Readonly<Record<string, string>> = {
  metadata: 'What a video is:',
  download: 'Queue a download:',
  status: 'Queue a download and look at its status:',
  credits: 'What has been used:',
  key: 'Another key:',
  file: 'All the way: queue, wait, and save the finished file as sample.mp4:',
};

function describeDemo({ accountId, key, lines }: NonNullable<Started['demo']>): string[] {
  return [
    `Demo account ${accountId} has a new key, shown this once:`,
    '',
    `  ${key}`,
    '',
    'Each of these lines works as it stands:',
    ...Object.entries(lines).flatMap(([name, line]) => ['', explanations[name] ?? name, line]),
  ];
}
