/** How long people stay signed in: since the sign-in, and since their last request. As Postgres writes intervals. */
export const sessionLifetimes = {
  owner: { lifetime: '30 days', idle: '1 day' },
  staff: { lifetime: '12 hours', idle: '1 hour' },
} as const;

/** Sign-in links that are mailed to one person or address within the time that a link is good for. */
export const maxLinksOfAddress = 5;
