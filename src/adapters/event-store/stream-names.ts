/** Our streams in a log that other systems may use too, and their names there. */
export interface StreamNames {
  /** The prefix of all our stream names. It is used in the log only. */
  prefix: string;
  /** Called with the name without the prefix. */
  isOurs: (stream: string) => boolean;
}

/** All streams are ours, without a prefix. */
export const allStreams: StreamNames = { prefix: '', isOurs: () => true };

export const nameInLog = ({ prefix }: StreamNames, stream: string): string => prefix + stream;

/** @returns undefined for a stream of another system */
export function ourName({ prefix, isOurs }: StreamNames, nameInTheLog: string): string | undefined {
  if (!nameInTheLog.startsWith(prefix)) return undefined;
  const stream = nameInTheLog.slice(prefix.length);
  return isOurs(stream) ? stream : undefined;
}
