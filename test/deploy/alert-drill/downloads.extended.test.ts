import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { browserOfFile } from '../../support/browser.ts';
import { call } from '../../support/client.ts';
import { mountSmallDisk } from '../../support/small-disk.ts';
import { temporaryDirectoryOfFile } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openEngine, rootWithout } from '../../support/without-namespaces.ts';
import { switchableYtDlp } from './switchable-yt-dlp.ts';
import { allOf, clients, drillTimeoutMs, isDrill, watchedService } from './watched-service.ts';

const slots = 8;

describe.runIf(isDrill)('faults of workers, files and platforms', () => {
  const browser = browserOfFile();
  const directory = temporaryDirectoryOfFile();
  const ytDlp = switchableYtDlp();
  const files = join(directory, 'files');
  const service = watchedService('downloads', () => ({
    WORKER_SLOTS: String(slots),
    MAX_JOBS_PER_ACCOUNT: '64',
    ATTEMPT_TIMEOUT_SECONDS: '20',
    FILES_DIRECTORY: files,
    ...ytDlp.environment(),
  }));
  const { raises, start, running, queueMany } = service;

  /** A worker whose yt-dlp says that it is years old, and that has 64 MiB. It takes no jobs. */
  const startOldWorker = async () => {
    const old = join(directory, 'old-yt-dlp');
    writeFileSync(old, '#!/bin/sh\necho 2020.01.01\n', { mode: 0o755 });
    const disk = await mountSmallDisk(64);
    const own = { YTDLP_PATH: old, WORK_DIRECTORY: disk.directory, MIN_FREE_DISK_MIB: '1000' };
    await start('old', 'worker', own, disk.inside);
  };
  const startUnguardedWorker = async () => {
    // The programs of the run are in a folder that other users may not pass.
    const ownPrograms = ['env', '-u', 'YTDLP_PATH', '-u', 'FFMPEG_PATH', '-u', 'FFPROBE_PATH'];
    const takesNoJobs = { MIN_FREE_DISK_MIB: '1000000000' };
    await start('unguarded', 'worker', { ...openEngine(), ...takesNoJobs }, (command) =>
      rootWithout([...ownPrograms, ...command]),
    );
  };

  it('raise the alerts of platforms and machines', { timeout: drillTimeoutMs }, async () => {
    const old = { instance: await service.hostOf('old') };
    await allOf([
      raises('a platform takes too long', [['PlatformFails', { platform: 'sample' }]], () => queueMany(10, 'slow')),
      raises('a machine without namespaces', ['GuardMissing'], startUnguardedWorker),
      raises(
        'an old yt-dlp, on a full disk',
        [
          ['DownloaderOld', old],
          ['DiskLow', old],
          ['DiskFilling', old],
        ],
        startOldWorker,
      ),
    ]);
    await running('old').stop();
    await running('unguarded').stop();
  });

  it('raise the alerts of downloaders', { timeout: drillTimeoutMs }, async () => {
    await raises('the file store is gone', ['JobsFailByService'], async () => {
      renameSync(files, `${files}-gone`);
      writeFileSync(files, '');
      await queueMany(4, 'bars');
    });
    rmSync(files);
    renameSync(`${files}-gone`, files);
    await raises('yt-dlp asks for an address inside', [['EgressRefused', { reason: 'not_public' }]], async () => {
      ytDlp.does('exec "$real" --ignore-config http://169.254.169.254/latest/meta-data');
      await queueMany(1, 'bars');
    });
    await raises('yt-dlp writes without end', [['ChildrenKilled', { ending: 'output_flood' }]], async () => {
      ytDlp.does('exec /usr/bin/tr "\\\\0" x < /dev/zero');
      await queueMany(8, 'bars');
    });
    await raises('yt-dlp is removed', ['DownloaderDoesNotStart'], async () => {
      ytDlp.isRemoved();
      await queueMany(1, 'bars');
    });
    await service.draw(browser);
  });

  it('raise the alerts of roles that are gone', { timeout: drillTimeoutMs }, async () => {
    ytDlp.does('exec /bin/sleep 3600');
    await queueMany(2 * slots, 'bars');
    const areFull = async () => (await service.prometheus.valueOf('sum(reeltally_downloads_running)')) === `${slots}`;
    await waitFor(areFull, { what: 'downloads in all slots', pollMs: 500 });
    const video = encodeURIComponent(service.installation.sampleUrl('bars'));
    let end = () => Promise.resolve();
    await raises(
      'the worker is killed with its jobs',
      [
        'WorkersLost',
        'NoWorker',
        ['InstanceDown', { role: 'worker', instance: await service.hostOf('worker') }],
        'MetadataFails',
      ],
      async () => {
        await running('worker').kill();
        end = clients(4, () => call(service.url, `/video/metadata?url=${video}`, { key: service.account.key }));
      },
    );
    await end();
    await allOf([
      raises('the API is killed', ['NoApi'], () => running('api').kill()),
      raises('the projector is killed', ['NoProjector'], () => running('projector').kill()),
      raises('the dispatcher is killed', ['NoDispatcher'], () => running('dispatcher').kill()),
    ]);
  });
});
