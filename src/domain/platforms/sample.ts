import type { Platform } from './platform-row.ts';

/** The sample platform of demo mode and tests. */
export const samplePlatform = (origin: string): Platform => ({
  name: 'sample',
  title: 'the sample platform',
  origin,
  hosts: [],
  pieces: { id: /[a-z0-9-]{1,64}/, short: /[a-z0-9-]{1,64}/ },
  addresses: [
    { at: ['/watch/{id}'], item: '/watch/{id}', extractor: 'sample' },
    { at: ['/photo/{id}'], item: '/photo/{id}', extractor: 'sample', kind: 'images' },
    { at: ['/s/{short}'], lookUp: '/s/{short}' },
  ],
});
