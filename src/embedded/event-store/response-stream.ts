/**
 * The server's side of a call that sends events: notices when the reader is slow, and when it is gone.
 */

import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';

export class ResponseStream {
  readonly #call: ServerWritableStream<ReadReq, ReadResp>;
  #isEnded = false;
  #wake: (() => void) | undefined;

  constructor(call: ServerWritableStream<ReadReq, ReadResp>) {
    this.#call = call;
    call.on('drain', () => this.#wake?.());
    for (const event of ['cancelled', 'close', 'error', 'finish']) {
      call.on(event, () => {
        this.#isEnded = true;
        this.#wake?.();
      });
    }
  }

  get isEnded(): boolean {
    return this.#isEnded || this.#call.cancelled;
  }

  /** Fulfilled when the reader has room for more. @returns whether it is still there */
  async send(response: ReadResp): Promise<boolean> {
    if (this.isEnded) return false;
    if (this.#call.write(response)) return true;
    await this.#woken();
    return !this.isEnded;
  }

  /**
   * Waits for `wakeOn` to call back, or for the reader to go.
   *
   * @param wakeOn Registers a callback and returns a function that removes it.
   */
  async sleepUntil(isDue: () => boolean, wakeOn: (callback: () => void) => () => void): Promise<void> {
    const forget = wakeOn(() => this.#wake?.());
    try {
      while (!isDue() && !this.isEnded) await this.#woken();
    } finally {
      forget();
    }
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
