import type { Environment } from '../../support/service.ts';
import { type ConsoleOfFile, consoleOfFile } from '../owner/console-of-file.ts';
import { type Staff, withStaff } from './staff-of.ts';

/** The engines, a projector and an API with both consoles, for the tests of one file. */
export type StaffOfFile = ConsoleOfFile & Staff;

export const staffOfFile = async (given: Environment = {}): Promise<StaffOfFile> =>
  withStaff(await consoleOfFile({ STAFF_PORT: '0', ...given }));
