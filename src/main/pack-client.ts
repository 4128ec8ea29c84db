/**
 * Builds the package of the client and packs it, away from the sources. Run by `npm run pack:client -- FOLDER`; without a folder
 * the package lies in `node_modules/.cache/client`. Prints the path of the package.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = join(root, 'src/client');
const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
const target = resolve(process.argv[2] ?? join(root, 'node_modules/.cache/client'));
mkdirSync(target, { recursive: true });
const assembled = mkdtempSync(join(target, 'package-'));
try {
  const compile = [compiler, '--project', sources, '--outDir', join(assembled, 'dist')];
  execFileSync(process.execPath, compile, { stdio: ['ignore', 'inherit', 'inherit'] });
  for (const file of ['package.json', 'README.md']) cpSync(join(sources, file), join(assembled, file));
  cpSync(join(root, 'LICENSE'), join(assembled, 'LICENSE'));
  const pack = ['pack', '--json', '--pack-destination', target];
  const printed = execFileSync('npm', pack, { cwd: assembled, encoding: 'utf8' });
  const [packed] = JSON.parse(printed) as [{ filename: string }];
  console.log(join(target, packed.filename));
} finally {
  rmSync(assembled, { recursive: true });
}
