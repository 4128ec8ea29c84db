import type { Logger } from 'pino';

export interface DiskWatermarkOptions {
  /** Where files are made, and where they are kept, by the name that a log line shows. */
  directories: Readonly<Record<string, string>>;
  minFreeBytes: number;
  /** Room on the file system of a directory. */
  freeBytes: (directory: string) => Promise<number>;
  logger: Logger;
}

export type DiskWatermark = ReturnType<typeof createDiskWatermark>;

/** A worker that has stopped for lack of space starts again with a tenth more, so that it does not toggle at the mark. */
const moreToResume = 0.1;

/** Stops a worker from taking jobs while a disk that it fills has too little space. */
export function createDiskWatermark({ directories, minFreeBytes, freeBytes, logger }: DiskWatermarkOptions) {
  let isLow = false;
  let lowFree: Record<string, number> = {};
  const look = async () => {
    const looked = Object.entries(directories).map(
      async ([name, directory]) => [name, await freeBytes(directory)] as const,
    );
    const free = await Promise.all(looked);
    // No await from here on: of several slots that check at once, only one logs it.
    const neededBytes = minFreeBytes + (isLow ? minFreeBytes * moreToResume : 0);
    const low = free.filter(([, bytes]) => bytes < neededBytes);
    const wasLow = isLow;
    lowFree = Object.fromEntries(low);
    isLow = low.length > 0;
    if (isLow && !wasLow)
      logger.warn({ free: lowFree, minFreeBytes }, 'no more jobs are taken: the disk has too little free space');
    if (!isLow && wasLow) logger.info('jobs are taken again: the disk has enough free space');
    return !isLow;
  };
  return {
    /** The result of the last check. */
    get isLow() {
      return isLow;
    },
    hasRoom: look,
    /** Checks, and returns the reason why downloads wait, for the operator; undefined while they do not. */
    async whyWaiting() {
      if (await look()) return undefined;
      const free = Object.entries(lowFree).map(([name, bytes]) => `${mebibytes(bytes)} MiB for ${rooms[name] ?? name}`);
      const needed = `of the ${mebibytes(minFreeBytes)} MiB in MIN_FREE_DISK_MIB`;
      return `wait for free disk space: there are ${free.join(' and ')}, ${needed}`;
    },
  };
}

const rooms: Readonly<Record<string, string>> = { work: 'unfinished files', files: 'finished files' };

const mebibytes = (bytes: number) => String(Math.floor(bytes / 1024 / 1024));
