import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { type PlanCatalogue, readPlanCatalogue } from '../../domain/plans.ts';
import { ConfigurationRefused } from './configuration-refused.ts';

/** Reads and checks the plans of an installation. @throws {ConfigurationRefused} telling why the file cannot be used */
export function readPlanFile(file: string): PlanCatalogue {
  if (!existsSync(file)) throw new ConfigurationRefused(`PLANS_FILE: there is no file ${file}`);
  try {
    return readPlanCatalogue(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new ConfigurationRefused(`PLANS_FILE: ${file} cannot be used:\n${why}`);
  }
}
