/** Work that goes on beside everything else. */
export interface Background {
  /** Aborts the signal of the work, and waits for its end. */
  stop: () => Promise<void>;
}

/** @param work begins at once; it ends soon after its signal is aborted, and never rejects */
export function runInBackground(work: (stopping: AbortSignal) => Promise<unknown>): Background {
  const stopping = new AbortController();
  const running = work(stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
