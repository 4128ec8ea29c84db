/** Which streams of a log that others may use too are ours, and what they are called there. */
export interface StreamNames {
  /** Prefix of all our stream names in the log, and nowhere else. */
  prefix: string;
  /** Told the name without the prefix. */
  isOurs: (stream: string) => boolean;
}

/** Everything is ours, under its own name. */
export const allStreams: StreamNames = { prefix: '', isOurs: () => true };

export const nameInLog = ({ prefix }: StreamNames, stream: string): string => prefix + stream;

/** @returns undefined for a stream of somebody else */
export function ourName({ prefix, isOurs }: StreamNames, nameInTheLog: string): string | undefined {
  if (!nameInTheLog.startsWith(prefix)) return undefined;
  const stream = nameInTheLog.slice(prefix.length);
  return isOurs(stream) ? stream : undefined;
}
