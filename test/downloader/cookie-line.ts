/** A line of a file of cookies, which holds until 2100. */
export const cookie = (domain: string, name: string, value = 'v'): string =>
  [domain, domain.startsWith('.') ? 'TRUE' : 'FALSE', '/', 'FALSE', '4102444800', name, value].join('\t');
