import { pino } from 'pino';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { startSigningTreeHeads } from '../../src/dispatcher/sign-tree-heads.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { notesOfTest, origin, signerFor } from './signing.ts';

/** Signs the heads of a log until it is killed, as a dispatcher does that believes to lead. */
const [eventStoreUrl = '', databaseUrl = '', notes = ''] = process.argv.slice(2);
startSigningTreeHeads({
  store: connectEventStore({ url: eventStoreUrl }),
  pool: openPatientPool(databaseUrl, { max: 4 }),
  files: notesOfTest(notes),
  origin,
  signerFor,
  newUuid,
  now: () => new Date().toISOString(),
  logger: pino({ level: 'silent' }),
  everyMs: 1,
});
process.stdout.write('signing\n');
