import { readProcessFile } from '../../src/system/processes.ts';

export const megabytesOfMebibyte = 1.048_576;

/** Resident memory of a process: see VmRSS in proc_pid_status(5). NaN where it has ended. */
export const residentMebibytes = (pid: number): number => kibibytes(pid, 'status', 'VmRSS') / 1024;

/** The same in megabytes. */
export const residentMegabytes = (pid: number): number => residentMebibytes(pid) * megabytesOfMebibyte;

/** The most that it was since the process began, or since `forgetPeakMemory`. */
export const peakMebibytes = (pid: number): number => kibibytes(pid, 'status', 'VmHWM') / 1024;

/** Resident memory in which each process counts its share of a page that several have: Pss in proc_pid_smaps(5). 0 where it has ended. */
export const proportionalMebibytes = (pid: number): number =>
  Number.isNaN(residentMebibytes(pid)) ? 0 : kibibytes(pid, 'smaps_rollup', 'Pss') / 1024;

function kibibytes(pid: number, file: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readProcessFile(pid, file) ?? '')?.[1]);
}
