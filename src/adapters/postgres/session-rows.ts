import { hash } from 'node:crypto';

/** What sessions and links of both consoles have in common. */

/** Longer descriptions of browsers are cut. */
export const maxBrowserCharacters = 300;

/** The secret of a session or a link: only the browser or the mail has it. */
export const newSecret = (randomBits: (bytes: number) => Buffer): string => randomBits(20).toString('base64url');
export const hashOfSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** Follows from the session's secret: whoever cannot read its cookie cannot know it. */
export const formTokenOf = (secret: string): string => hash('sha256', `form ${secret}`, 'base64url');
