/** @param host a name or an address, without a port; in a URL an IPv6 address has brackets @returns whether only this machine reaches it */
export const isLoopback = (host: string): boolean =>
  ['localhost', '::1', '[::1]'].includes(host) || /^127(?:\.\d{1,3}){3}$/.test(host);
