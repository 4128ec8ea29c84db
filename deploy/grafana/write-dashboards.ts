import { writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { dashboards } from './dashboards.ts';

/** Writes `deploy/dashboards`, which Grafana reads. */
for (const dashboard of dashboards) {
  const file = new URL(`../dashboards/${dashboard.uid.replace('reeltally-', '')}.json`, import.meta.url);
  const options = await resolveConfig(import.meta.filename);
  writeFileSync(file, await format(JSON.stringify(dashboard), { ...options, parser: 'json' }));
}
