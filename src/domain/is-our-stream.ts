const account = 'acc_[a-z0-9]{16,32}';
const staff = 'stf_[a-z0-9]{16,32}';
/** The form that `commands/ids/request-token.ts` gives them. */
const requestToken = '[A-P][A-Za-z0-9_-]{31}';

const forms = [
  `account-${account}`,
  `usage-${account}-\\d{8}`,
  `job-${requestToken}`,
  `invoices-${account}`,
  `corrections-${account}`,
  `staff-${staff}`,
  'issuer',
  'audit-acknowledgements',
  'tree-heads',
];
const pattern = new RegExp(`^(?:${forms.join('|')})$`);

/**
 * Recognises the streams of this service by the exact form of their names. The log may be shared with other systems, whose
 * streams may begin with the same words.
 */
export const isOurStream = (name: string): boolean => pattern.test(name);
