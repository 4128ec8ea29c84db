import { api } from './api.ts';
import { files } from './files.ts';
import { jobs } from './jobs.ts';
import { money } from './money.ts';
import { readModels } from './read-models.ts';
import { servers } from './servers.ts';

/** All dashboards, in the order in which one looks at them. */
export const dashboards = [money, api, jobs, readModels, servers, files];
