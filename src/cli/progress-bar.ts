import type { ReplayProgress } from '../../projections/runner/replay.ts';
import type { Output } from './output.ts';

const barWidth = 30;
/** To the first column, and everything behind the cursor gone: a shorter line leaves nothing of a longer one. */
export const lineStart = '\r\u001b[K';

/** On a terminal a bar that moves; elsewhere a line for every tenth of the way; for a program nothing. */
export function createProgressBar({ json, tell, terminal }: Output, name: string) {
  const startedMs = performance.now();
  let tenths = 0;
  let isOnScreen = false;
  return {
    show: ({ events, position, target }: ReplayProgress) => {
      if (json) return;
      // Before the first event the position is −1; behind the target there may be more by now.
      const share = target === 0n ? 1 : Math.min(Math.max(Number(position) / Number(target), 0), 1);
      const rate = Math.round((events * 1000) / Math.max(performance.now() - startedMs, 1));
      const facts = `${String(Math.floor(share * 100)).padStart(3)} %  ${String(events)} events  ${String(rate)}/s`;
      if (terminal) {
        const filled = '#'.repeat(Math.floor(share * barWidth)).padEnd(barWidth, '.');
        tell(`${lineStart}${name}  [${filled}] ${facts}`);
        isOnScreen = true;
      } else if (Math.floor(share * 10) > tenths) {
        tenths = Math.floor(share * 10);
        tell(`${name}  ${facts}\n`);
      }
    },
    /** Whatever is said next begins on a line of its own. */
    end: () => {
      if (isOnScreen) tell('\n');
      isOnScreen = false;
    },
  };
}

/** The same for a number of things that is known before. @param show told how many are done */
export function createCountBar(output: Output, name: string, count: number) {
  const bar = createProgressBar(output, name);
  return {
    show: (done: number) => {
      bar.show({ events: done, position: BigInt(done), target: BigInt(count) });
    },
    end: bar.end,
  };
}
