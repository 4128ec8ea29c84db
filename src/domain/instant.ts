import { z } from 'zod';

/** Instants are text everywhere: UTC, ISO-8601, with milliseconds. In this form they sort by time. */
export const instant = z.iso.datetime({ precision: 3 });

/** The contract's form of an instant: `YYYY-MM-DD HH:MM:SS.mmm`, in UTC. @param instant UTC ISO-8601 */
export const contractTimestamp = (instant: string): string => instant.slice(0, 23).replace('T', ' ');

export const plusSeconds = (from: string, seconds: number): string =>
  new Date(Date.parse(from) + seconds * 1_000).toISOString();

export const anHourBefore = (time: string): string => plusSeconds(time, -3_600);

export const aDayBefore = (time: string): string => plusSeconds(time, -86_400);

export const later = (one: string, other: string): string => (one > other ? one : other);
