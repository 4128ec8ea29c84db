import { describe } from 'vitest';
import { isWithoutBrowser } from '../../support/browser.ts';
import { lookAtStaffPages } from './look-at-staff-pages.ts';

/** Every page of the staff console: how it looks, and whether people who use it differently can. */
describe.skipIf(isWithoutBrowser)('looks as it was accepted, and everybody can use', () => lookAtStaffPages('others'));
