import { describe } from 'vitest';
import { isWithoutBrowser } from '../../support/browser.ts';
import { lookAtPages } from '../look-at.ts';
import { lookedAt, prepareLookers } from './looked-at.ts';
import { consoleOfRun } from './owners.ts';

/**
 * Every page: how it looks, and whether people who use it differently can: by the rules of WCAG 2.2 A and AA, with the keyboard,
 * on a narrow screen, and over a slow line.
 */
describe.skipIf(isWithoutBrowser)('looks as it was accepted, and everybody can use', () => {
  const service = consoleOfRun();
  lookAtPages(lookedAt, 'others', (browser) => prepareLookers(browser, service, 'pages'));
});
