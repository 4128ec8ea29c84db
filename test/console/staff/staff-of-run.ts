import type { Environment } from '../../support/service.ts';
import { ownersOfRun } from '../owner/owners-of-run.ts';
import { type Staff, withStaff } from './staff-of.ts';

/** Both consoles of a service that other files use at the same time: a test judges only its own accounts and people. */
export const staffOfRun = (environment: Environment = {}): Staff => withStaff(ownersOfRun(environment));
