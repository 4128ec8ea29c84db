import { waitFor } from './wait-for.ts';

/** What `/readyz` says, once each server has answered in time: on a busy machine one may not. */
export const readiness = (url: string): Promise<{ httpStatus: number } & Record<string, unknown>> =>
  waitFor(
    async () => {
      const response = await fetch(`${url}/readyz`);
      const parts = (await response.json()) as Record<string, unknown>;
      return Object.values(parts).includes('does not answer') ? undefined : { httpStatus: response.status, ...parts };
    },
    { what: 'each server to answer' },
  );
