import { listPids, readProcessFile } from '../../src/system/processes.ts';

/** Ids of the processes, other than the test's own, that have a directory in their command line or environment. */
export const processesNaming = (directory: string): number[] =>
  listPids().filter(
    (pid) =>
      pid !== process.pid && ['cmdline', 'environ'].some((file) => readProcessFile(pid, file)?.includes(directory)),
  );
