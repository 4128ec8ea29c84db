/** How long each part of a run takes, and what is done when one does not end. */
export class PartTimes {
  readonly #seconds = new Map<string, number>();
  readonly #limitMinutes: number;
  readonly #overran: (reason: string) => void;

  /** @param overran told the part that takes longer than the limit; it must end the process */
  constructor(limitMinutes: number, overran: (reason: string) => void) {
    this.#limitMinutes = limitMinutes;
    this.#overran = overran;
  }

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const startedMs = performance.now();
    const timer = setTimeout(
      () => this.#overran(`${name} took longer than ${this.#limitMinutes.toFixed(0)} minutes`),
      // The longest that there is: 25 days.
      Math.min(this.#limitMinutes * 60_000, 2 ** 31 - 1),
    );
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      const seconds = (performance.now() - startedMs) / 1000;
      this.#seconds.set(name, (this.#seconds.get(name) ?? 0) + seconds);
    }
  }

  /** By part, what takes longest first. */
  seconds(): Record<string, number> {
    return Object.fromEntries([...this.#seconds].sort(([, one], [, other]) => other - one));
  }
}
