import { afterAll } from 'vitest';
import { endService } from '../../support/services-of-run.ts';
import { lookAtPages, type Looks } from '../look-at.ts';
import { type ExampleOfStaff, makeExampleOfStaff } from './example-of-staff.ts';
import { lookedAt } from './looked-at.ts';

/** Every page of the staff console, on a service of the file's own. */
export function lookAtStaffPages(looks: Looks): void {
  let example: ExampleOfStaff | undefined;
  afterAll(async () => {
    if (!example) return;
    await endService(example.service);
    await example.end();
  });
  lookAtPages(lookedAt, looks, async () => (example = await makeExampleOfStaff()));
}
