import process from 'node:process';
import { ClientError } from './client-error.ts';

/** One Ctrl-C may come as two signals: one from the terminal, and the same again from npm, which passes it on. */
const samePressMs = 1_000;
const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * Work of a program whose `AbortSignal` aborts at the first Ctrl-C or SIGTERM, with the `ClientError` that says so. A second one
 * ends the process.
 */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  let firstMs: number | undefined;
  const interrupt = () => {
    if (firstMs !== undefined && performance.now() - firstMs > samePressMs) process.exit(130);
    firstMs ??= performance.now();
    controller.abort(new ClientError('interrupted', 'the command was interrupted'));
  };
  for (const name of signals) process.on(name, interrupt);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of signals) process.off(name, interrupt);
  }
}
