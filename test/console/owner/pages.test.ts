import { describe } from 'vitest';
import { isWithoutBrowser } from '../../support/browser.ts';
import { lookAtPages } from '../look-at.ts';
import { lookedAt, prepareLookers } from './looked-at.ts';
import { consoleOfRun } from './owners.ts';

/** Every page: how it looks, whether it fits and shows the focus, and what it weighs. */
describe.skipIf(isWithoutBrowser)('looks as it was accepted, and everybody can use', () => {
  const service = consoleOfRun();
  lookAtPages(lookedAt, 'first', (browser) => prepareLookers(browser, service, 'pages'));
});
