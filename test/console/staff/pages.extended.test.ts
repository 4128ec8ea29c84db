import { afterAll, describe } from 'vitest';
import { isWithoutBrowser } from '../../support/browser.ts';
import { endService } from '../../support/services-of-run.ts';
import { lookAtPages } from '../look-at.ts';
import { type ExampleOfStaff, makeExampleOfStaff } from './example-of-staff.ts';
import { lookedAt } from './looked-at.ts';

/** Every page of the staff console: how it looks, and whether people who use it differently can. */
describe.skipIf(isWithoutBrowser)('looks as it was accepted, and everybody can use', () => {
  let example: ExampleOfStaff | undefined;
  afterAll(async () => {
    if (!example) return;
    await endService(example.service);
    await example.end();
  });
  lookAtPages(lookedAt, 'others', async () => (example = await makeExampleOfStaff()));
});
