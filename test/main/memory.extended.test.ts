import { expect, it } from 'vitest';
import { residentMegabytes } from '../support/process-memory.ts';
import { startService } from '../support/service.ts';

it.runIf(process.platform === 'linux')(
  'all roles in one process, with the story told, hold less than 300 MB',
  async () => {
    await using service = await startService({ DEMO: '1' });
    expect(residentMegabytes(service.pid)).toBeLessThan(300);
  },
);
