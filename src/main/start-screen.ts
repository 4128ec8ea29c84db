import type { WriteStream } from 'node:tty';
import { lineStart } from '../cli/progress-bar.ts';
import { describeStart } from './describe-start.ts';
import type { Started } from './serve.ts';

export interface StartScreen {
  /** Shows a step of the start while it waits: on a terminal alone, and nothing of it stays. */
  progress: (step: string) => void;
  ready: (started: Started) => void;
  stopped: () => void;
}

/** What `serve` writes to standard output: one screen for a person, one document for a program. */
export function startScreen({ json, stdout }: { json: boolean; stdout: WriteStream }): StartScreen {
  const clear = stdout.isTTY ? lineStart : '';
  const say = (text: string) => stdout.write(`${clear}${text}\n`);
  return {
    progress: (step) => {
      // A longer line would be broken into two, of which only one goes away again.
      if (!json && stdout.isTTY) stdout.write(`${clear}${step} …`.slice(0, clear.length + stdout.columns - 1));
    },
    ready: (started) => {
      say(json ? JSON.stringify(started) : describeStart(started));
    },
    stopped: () => {
      if (!json) say('Reeltally has stopped.');
    },
  };
}
