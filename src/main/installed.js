import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';

/**
 * Whether what npm brings is there. Plain JavaScript without packages: it runs where nothing is installed yet, and on the Node
 * of the system, which may be too old for everything else.
 */

const leastNode = 24;
const project = new URL('../../', import.meta.url);

/**
 * Ends the process with one sentence that names every package that is missing.
 *
 * @param {...('dependencies' | 'devDependencies' | 'optionalDependencies')} kinds what the caller cannot do without
 */
export function requirePackages(...kinds) {
  const manifest = JSON.parse(readFileSync(new URL('package.json', project), 'utf8'));
  const lacking = (kind) => Object.keys(manifest[kind]).filter((name) => !isInstalled(name));
  const isNodeTooOld = Number.parseInt(process.versions.node, 10) < leastNode;
  const needed = kinds.flatMap(lacking);
  if (needed.length === 0 && !isNodeTooOld) return;
  process.stderr.write(
    `reeltally: ${sentence(new Set([...needed, ...lacking('optionalDependencies')]), isNodeTooOld)}\n`,
  );
  process.exit(1);
}

const isInstalled = (name) => existsSync(new URL(`node_modules/${name}/package.json`, project));

function sentence(missing, isNodeTooOld) {
  const folder = fileURLToPath(project);
  if (!existsSync(new URL('node_modules', project)))
    return `nothing is installed yet: run "npm ci" in ${folder} first.`;
  const names = missing.size === 0 ? '' : `these packages are not installed: ${[...missing].join(', ')}; `;
  const elsewhere = isNodeTooOld ? `, and on other machines than Linux on x64 install Node ${leastNode}` : '';
  return `${names}run "npm ci" in ${folder}, without --omit=optional${elsewhere}.`;
}
