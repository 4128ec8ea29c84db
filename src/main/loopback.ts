/** @param host a name or an address, without a port @returns whether only this machine reaches it */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
