import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tidy/source-files.ts';
import type { StartedBy } from './service.ts';

/** The service as it was at an earlier commit, for processes beside those under test. */
export interface EarlierVersion {
  commit: string;
  /** Starts the earlier command line in place of the one under test. */
  startedBy: StartedBy;
}

const git = (...words: string[]) => spawnSync('git', ['-C', root, ...words], { encoding: 'utf8' });

/**
 * The last release; before the first one, the commit before the newest migration of Postgres, which is the last step that
 * old processes notice. `UPGRADE_FROM` names another commit.
 *
 * @returns undefined where the history is not here, as in an unpacked archive or a shallow clone
 */
function earlierCommit(): string | undefined {
  const given = process.env['UPGRADE_FROM'];
  const release = git('describe', '--tags', '--match', 'v*', '--abbrev=0', 'HEAD^').stdout.trim();
  const migration = git('log', '-1', '--diff-filter=A', '--format=%H', '--', 'projections/migrations').stdout.trim();
  const name = given ?? (release === '' ? `${migration}^` : release);
  const { status, stdout } = git('rev-parse', '--verify', '--quiet', `${name}^{commit}`);
  return status === 0 ? stdout.trim() : undefined;
}

/** @returns why no earlier version can be started here; undefined where one can */
export function whyNoEarlierVersion(): string | undefined {
  if (earlierCommit() !== undefined) return undefined;
  return 'The history of the project is not here: clone it whole, with its tags (git fetch --unshallow --tags).';
}

/** @param directory a new folder for the sources; its packages are those that are installed for the version under test */
export function unpackEarlierVersion(directory: string): EarlierVersion {
  const commit = earlierCommit();
  if (commit === undefined) throw new Error(whyNoEarlierVersion());
  mkdirSync(directory);
  const parts = ['package.json', 'src', 'projections', 'deploy', 'docs'];
  const archive = execFileSync('git', ['-C', root, 'archive', commit, ...parts], { maxBuffer: 100_000_000 });
  execFileSync('tar', ['-x', '-C', directory], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  const program = (word: string) => (word.startsWith(join(root, 'src')) ? word.replace(root, `${directory}/`) : word);
  return { commit, startedBy: (command) => command.map(program) };
}
