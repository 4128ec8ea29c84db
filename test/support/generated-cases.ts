/** Runs before every test file: generated cases follow from the seed that the run has printed. */

import fc from 'fast-check';
import { scaled } from './proof-scale.ts';

fc.configureGlobal({ seed: Number(process.env['PROOF_SEED']), numRuns: scaled(100) });
