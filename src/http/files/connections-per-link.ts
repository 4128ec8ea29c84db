import { networkOf } from '../../requests/client-address.ts';

/** Limits the connections of this process that carry files at a time, for each link and for each client address. */
export class ConnectionLimits {
  readonly #perLink: number;
  readonly #perAddress: number;
  readonly #taken = new Map<string, number>();

  constructor({ perLink, perAddress }: { perLink: number; perAddress: number }) {
    this.#perLink = perLink;
    this.#perAddress = perAddress;
  }

  /** @returns a function that gives the place back; undefined if there is no place */
  take({ link, address }: { link: string; address: string }): (() => void) | undefined {
    const [ofLink, ofAddress] = [`link ${link}`, `address ${networkOf(address)}`];
    if (this.#count(ofLink) >= this.#perLink || this.#count(ofAddress) >= this.#perAddress) return undefined;
    this.#add(ofLink, 1);
    this.#add(ofAddress, 1);
    return () => {
      this.#add(ofLink, -1);
      this.#add(ofAddress, -1);
    };
  }

  #count(name: string): number {
    return this.#taken.get(name) ?? 0;
  }

  #add(name: string, change: 1 | -1): void {
    const count = this.#count(name) + change;
    if (count === 0) this.#taken.delete(name);
    else this.#taken.set(name, count);
  }
}
