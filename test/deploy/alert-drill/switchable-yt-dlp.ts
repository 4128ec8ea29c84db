import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineOfRun } from '../../support/films-and-engine-of-run.ts';
import type { Environment } from '../../support/service.ts';
import { temporaryDirectoryOfFile } from '../../support/temporary-directory.ts';

export interface SwitchableYtDlp {
  /** For a worker that uses it. */
  environment: () => Environment;
  /** From now on each download runs this line of shell, in which `$real` is the real program. */
  does: (line: string) => void;
  /** It is not there any more. */
  isRemoved: () => void;
}

/** A yt-dlp that can be replaced under a running worker, as an update does. It works until it is told otherwise. */
export function switchableYtDlp(): SwitchableYtDlp {
  const path = join(temporaryDirectoryOfFile(), 'yt-dlp');
  let real = '';
  const does = (line: string) => {
    const version = `case "$*" in *--version*) exec "$real" --version;; esac`;
    // In one step: whoever starts it meanwhile starts the old one or the new one.
    writeFileSync(`${path}.new`, `#!/bin/sh\nreal='${real}'\n${version}\n${line}\n`, { mode: 0o755 });
    renameSync(`${path}.new`, path);
  };
  return {
    environment: () => {
      // In the folder that children see in the sandbox.
      real = engineOfRun()['YTDLP_PATH'] ?? '';
      does('exec "$real" "$@"');
      return { YTDLP_PATH: path };
    },
    does,
    isRemoved: () => rmSync(path),
  };
}
