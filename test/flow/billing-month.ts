import { clockOffset } from '../support/clock-offset.ts';
import type { Installation } from '../support/installation.ts';
import type { Environment, ServiceProcess } from '../support/service.ts';

export const daySeconds = 86_400;
export const monthSeconds = 30.4375 * daySeconds;

/** Processes that a month may kill. */
export type Killed = 'first' | 'second' | 'dispatcher';

/** The processes that live in one month: two APIs whose clocks of billing differ, and a dispatcher. */
export class Month {
  readonly #installation: Installation;
  readonly #clocks: Readonly<Record<Killed, Environment>>;
  #apis: ServiceProcess[] = [];
  #dispatcher: ServiceProcess | undefined;
  /** How many requests were answered, for whoever waits for the middle of the month. */
  answers = 0;

  private constructor(installation: Installation, offsetSeconds: number, skewSeconds: number) {
    this.#installation = installation;
    const [first, second] = [clockOffset(offsetSeconds), clockOffset(offsetSeconds + skewSeconds)];
    this.#clocks = { first, second, dispatcher: first };
  }

  /** @param skewDays by which the second API's clock is ahead */
  static async start(installation: Installation, number: number, skewDays: number): Promise<Month> {
    const month = new Month(installation, number * monthSeconds, skewDays * daySeconds);
    const { first, second, dispatcher } = month.#clocks;
    month.#apis = await Promise.all([installation.startRole('api', first), installation.startRole('api', second)]);
    month.#dispatcher = await installation.startRole('dispatcher', dispatcher);
    return month;
  }

  /** Addresses of the two APIs. */
  get urls(): string[] {
    return this.#apis.map(({ url }) => url);
  }

  get clock(): Environment {
    return this.#clocks.first;
  }

  /** SIGKILL, and a new process in its place. */
  async replace(which: Killed): Promise<void> {
    if (which === 'dispatcher') {
      await this.#dispatcher?.kill();
      this.#dispatcher = await this.#installation.startRole('dispatcher', this.#clocks.dispatcher);
      return;
    }
    const index = which === 'first' ? 0 : 1;
    await this.#apis[index]?.kill();
    this.#apis[index] = await this.#installation.startRole('api', this.#clocks[which]);
  }

  async stop(): Promise<void> {
    const processes = this.#dispatcher ? [...this.#apis, this.#dispatcher] : this.#apis;
    await Promise.all(processes.map((process) => process.stop()));
  }
}
