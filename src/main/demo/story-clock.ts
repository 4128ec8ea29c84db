/** The time at which a command of the story is given: in the past, and never after the present. */
export class StoryClock {
  #ms: number;
  readonly #presentMs: number;

  /** @param presentMs in milliseconds since 1970 */
  constructor(presentMs: number) {
    this.#presentMs = presentMs;
    this.#ms = presentMs;
  }

  set(ms: number): void {
    this.#ms = Math.min(ms, this.#presentMs);
  }

  readonly now = (): string => new Date(this.#ms).toISOString();
}
