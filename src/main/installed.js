import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';
import { machines, thisMachine, windowsRefusal } from '../system/machine-parts.js';

/**
 * Whether what npm brings is there. Plain JavaScript without packages: it runs where nothing is installed yet, and on the Node
 * of the system, which may be too old for everything else.
 */

/** @typedef {'dependencies' | 'devDependencies' | 'optionalDependencies'} Kind */

const leastNode = 24;
const project = new URL('../../', import.meta.url);

/**
 * Ends the process with one sentence that names every package that is missing.
 *
 * @param {...Kind} kinds what the caller cannot do without
 */
export function requirePackages(...kinds) {
  if (process.platform === 'win32') end(windowsRefusal);
  const manifest = /** @type {Record<Kind, Record<string, string>>} */ (
    JSON.parse(readFileSync(new URL('package.json', project), 'utf8'))
  );
  /** @param {Kind} kind */
  const lacking = (kind) => Object.keys(manifest[kind]).filter((name) => !isInstalled(name));
  const isNodeTooOld = Number.parseInt(process.versions.node, 10) < leastNode;
  const needed = kinds.flatMap(lacking);
  if (needed.every(isForAnother) && !isNodeTooOld) return;
  const missing = new Set([...needed, ...lacking('optionalDependencies')].filter((name) => !isForAnother(name)));
  end(sentence(missing, isNodeTooOld));
}

/** @param {string} name */
const isInstalled = (name) => existsSync(new URL(`node_modules/${name}/package.json`, project));

/** @param {string} name of a package, which may hold programs for other machines alone */
function isForAnother(name) {
  const own = Object.values(thisMachine().packages);
  return !own.includes(name) && Object.values(machines).some(({ packages }) => Object.values(packages).includes(name));
}

/**
 * @param {Set<string>} missing
 * @param {boolean} isNodeTooOld
 */
function sentence(missing, isNodeTooOld) {
  const folder = fileURLToPath(project);
  const { name, packages } = thisMachine();
  const why = [];
  if (isNodeTooOld && packages.node === undefined)
    why.push(
      `this is Node ${process.versions.node}, and npm has no newer one for ${name}: install Node ${leastNode} or newer`,
    );
  if (isNodeTooOld && packages.node !== undefined && isInstalled(packages.node))
    why.push(
      `this is Node ${process.versions.node}, and Node ${leastNode} is needed, which npm has installed here: ` +
        'use "npm start" or "npm run reeltally -- COMMAND"',
    );
  if (!existsSync(new URL('node_modules', project)))
    why.push(`nothing is installed yet: run "npm ci" in ${folder} first`);
  else if (missing.size > 0 || why.length === 0) {
    const names = missing.size === 0 ? '' : `these packages are not installed: ${[...missing].join(', ')}; `;
    why.push(`${names}run "npm ci" in ${folder}, without --omit=optional`);
  }
  return `${why.join('; ')}.`;
}

/**
 * @param {string} why
 * @returns {never}
 */
function end(why) {
  process.stderr.write(`reeltally: ${why}\n`);
  process.exit(1);
}
