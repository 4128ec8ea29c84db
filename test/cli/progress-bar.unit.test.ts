import { describe, expect, it } from 'vitest';
import type { Output } from '../../src/cli/output.ts';
import { createProgressBar } from '../../src/cli/progress-bar.ts';

/** What somebody who looks on is told on the way to position 200, in steps of so much. */
function toldOnTheWay(output: Pick<Output, 'json' | 'terminal'>, step: bigint): string {
  let told = '';
  const bar = createProgressBar(
    { ...output, columns: undefined, write: () => undefined, tell: (text) => (told += text) },
    'jobs',
  );
  for (let position = step; position <= 200n; position += step) {
    bar.show({ events: Number(position) * 3, position, target: 200n });
  }
  bar.end();
  return told.replaceAll(/\d+\/s/g, 'N/s');
}

describe('progress', () => {
  it('is a bar that moves on a terminal, each time in place of the one before', () => {
    expect(toldOnTheWay({ json: false, terminal: true }, 50n).split('\r\u001b[K')).toEqual([
      '',
      'jobs  [#######.......................]  25 %  150 events  N/s',
      'jobs  [###############...............]  50 %  300 events  N/s',
      'jobs  [######################........]  75 %  450 events  N/s',
      'jobs  [##############################] 100 %  600 events  N/s\n',
    ]);
  });

  it('is a line for every tenth of the way elsewhere', () => {
    const lines = toldOnTheWay({ json: false, terminal: false }, 1n).trimEnd().split('\n');
    expect(lines).toHaveLength(10);
    expect(lines[0]).toBe('jobs   10 %  60 events  N/s');
    expect(lines.at(-1)).toBe('jobs  100 %  600 events  N/s');
  });

  it.each([true, false])('is nothing for a program, whether or not a person looks on (%s)', (terminal) => {
    expect(toldOnTheWay({ json: true, terminal }, 50n)).toBe('');
  });

  it('of an empty log is complete, and ends without a line where nothing was said', () => {
    let told = '';
    const bar = createProgressBar(
      { json: false, terminal: true, columns: 80, write: () => undefined, tell: (text) => (told += text) },
      'jobs',
    );
    bar.end();
    expect(told).toBe('');
    bar.show({ events: 0, position: 0n, target: 0n });
    expect(told).toContain('100 %  0 events');
  });
});
