import process from 'node:process';
import { ClientError } from './client-error.ts';

/** One Ctrl-C may come as two signals: one from the terminal, and the same again from npm, which passes it on. */
const samePressMs = 1_000;
const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * The first Ctrl-C or SIGTERM acts, a second one ends the process.
 *
 * @param act may be repeated @returns what stops listening
 */
export function onInterrupt(act: () => void): () => void {
  let firstMs: number | undefined;
  const interrupt = () => {
    if (firstMs !== undefined && performance.now() - firstMs > samePressMs) process.exit(130);
    firstMs ??= performance.now();
    act();
  };
  for (const name of signals) process.on(name, interrupt);
  return () => {
    for (const name of signals) process.off(name, interrupt);
  };
}

/** Work of a program whose `AbortSignal` aborts at the first Ctrl-C or SIGTERM, with the `ClientError` that says so. */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const forget = onInterrupt(() => controller.abort(new ClientError('interrupted', 'the command was interrupted')));
  try {
    return await work(controller.signal);
  } finally {
    forget();
  }
}
