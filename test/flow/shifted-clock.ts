import { readFileSync } from 'node:fs';

/**
 * Loaded before the service into one of its processes (`node --import`): a machine whose clock is wrong by as many milliseconds
 * as a file says now, so that it can be set while the process runs. Only `Date.now` is shifted, which is all that the service
 * reads (test/tidy/source-rules.test.ts).
 */
const file = process.env['SHIFTED_CLOCK'] ?? '';
const realNow = Date.now.bind(Date);
const keptMs = 20;
let shiftMs = 0;
let readAtMs = -Infinity;

Date.now = () => {
  if (performance.now() - readAtMs > keptMs) {
    readAtMs = performance.now();
    shiftMs = Number(readFileSync(file, 'utf8'));
  }
  return realNow() + shiftMs;
};
