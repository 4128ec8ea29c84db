import type { Command } from 'commander';
import type { CliDependencies, RunCommand } from './dependencies.ts';
import { sayingDisk } from './disk-failure.ts';
import { type Output, print } from './output.ts';

/** The facts of a backup that are shown. */
interface BackupFacts {
  createdAt: string;
  prefix: string;
  log: { position: string; events: number; streams: number; heads: string; brokenLinks: number };
  files: readonly { path: string; bytes: number }[];
}

/** Backups of the embedded data folder. */
export interface Backups {
  /** @throws {CommandFailed} if the folder exists, or there is no room */
  create(backup: string, service: Pick<CliDependencies, 'pool' | 'now'> & { withFiles: boolean }): Promise<BackupFacts>;
  /** @throws {CommandFailed} unless the backup is whole */
  verify(backup: string): Promise<BackupFacts>;
  /** Into the data folder, which must be empty or missing. @throws {CommandFailed} */
  restore(backup: string): Promise<BackupFacts>;
}

export function addCreateBackup(group: Command, run: RunCommand, open: () => Promise<Backups>): void {
  group
    .command('create')
    .description('back up the data folder of a running service to a new folder, and read the backup back')
    .argument('<folder>', 'folder to make; it holds personal data and the secret, and only you may enter it')
    .option('--without-files', 'leave out the finished files, which clients fetch within a day')
    .action((folder: string, { withoutFiles = false }: { withoutFiles?: boolean }) =>
      run(
        async (cli) => {
          const made = await sayingDisk(folder, async () =>
            (await open()).create(folder, { ...cli, withFiles: !withoutFiles }),
          );
          tell(cli.output, folder, made, 'The backup is complete, and was read back.');
        },
        { wholeTables: true },
      ),
    );
}

export function addVerifyBackup(group: Command, output: Output, open: () => Promise<Backups>): void {
  group
    .command('verify')
    .description('read a backup and compare it with its manifest: checksums, and the hash chain of every stream')
    .argument('<folder>', 'folder of the backup')
    .action(async (folder: string) => {
      const checked = await sayingDisk(folder, async () => (await open()).verify(folder));
      tell(output, folder, checked, 'The backup is whole.');
    });
}

export function addRestoreBackup(group: Command, output: Output, open: () => Promise<Backups>): void {
  group
    .command('restore')
    .description('verify a backup, and make the data folder of it, which must be empty or missing (REELTALLY_DATA)')
    .argument('<folder>', 'folder of the backup')
    .action(async (folder: string) => {
      const restored = await sayingDisk(folder, async () => (await open()).restore(folder));
      const prefix = restored.prefix === '' ? '' : ` Set EVENTSTORE_PREFIX to "${restored.prefix}", as it was before.`;
      tell(output, folder, restored, `The data folder is restored. Start the service on it.${prefix}`);
    });
}

function tell(output: Output, folder: string, { createdAt, prefix, log, files }: BackupFacts, said: string): void {
  const { position, events, streams, heads, brokenLinks } = log;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const data = {
    folder,
    created_at: createdAt,
    event_store_prefix: prefix,
    position,
    events,
    streams,
    chain_heads: heads,
    broken_links: brokenLinks,
    files: files.length,
    bytes,
  };
  const broken = `\n${String(brokenLinks)} events are not chained to the one before: run ledger verify.`;
  const text =
    `${said} It is of ${createdAt}, with ${String(events)} events up to position ${position}, and ${String(files.length)} ` +
    `files of ${String(Math.ceil(bytes / 2 ** 20))} MiB.${brokenLinks > 0 ? broken : ''}`;
  print(output, data, text);
}
