import { networkOf } from '../../requests/client-address.ts';

/** Limits the connections of this process that carry files at a time, for each link and for each client address. */
export function limitConnections({ perLink, perAddress }: { perLink: number; perAddress: number }) {
  const taken = new Map<string, number>();
  const countOf = (name: string) => taken.get(name) ?? 0;
  const add = (name: string, change: 1 | -1) => {
    const count = countOf(name) + change;
    if (count === 0) taken.delete(name);
    else taken.set(name, count);
  };
  /** @returns a function that gives the place back; undefined if there is no place */
  return ({ link, address }: { link: string; address: string }): (() => void) | undefined => {
    const [ofLink, ofAddress] = [`link ${link}`, `address ${networkOf(address)}`];
    if (countOf(ofLink) >= perLink || countOf(ofAddress) >= perAddress) return undefined;
    add(ofLink, 1);
    add(ofAddress, 1);
    return () => {
      add(ofLink, -1);
      add(ofAddress, -1);
    };
  };
}
