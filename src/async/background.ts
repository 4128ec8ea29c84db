/** Work that goes on beside everything else. */
export type Background = ReturnType<typeof runInBackground>;

/** @param work begins at once; it ends soon after its signal is aborted, and never rejects */
export function runInBackground(work: (stopping: AbortSignal) => Promise<unknown>) {
  const stopping = new AbortController();
  const running = work(stopping.signal);
  return {
    /** Aborts the signal of the work, and waits for its end. */
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
