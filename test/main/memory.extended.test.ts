import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startService } from '../support/service.ts';

function residentMegabytes(pid: number): number {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? [];
  return (Number(kibibytes) * 1024) / 1e6;
}

it.runIf(process.platform === 'linux')(
  'all roles in one process, with the story told, hold less than 300 MB',
  async () => {
    await using service = await startService({ DEMO: '1' });
    expect(residentMegabytes(service.pid)).toBeLessThan(300);
  },
);
