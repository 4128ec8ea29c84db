/** In place of `node:fs/promises` for the worker: nothing is written to a disk. */
export const mkdir = (): Promise<undefined> => Promise.resolve(undefined);
export const rm = (): Promise<undefined> => Promise.resolve(undefined);
