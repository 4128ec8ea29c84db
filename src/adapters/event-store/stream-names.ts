/** Our streams in a log that other systems may use too, and their names there. */
export interface StreamNames {
  /** The prefix of all our stream names. It is used in the log only. */
  prefix: string;
  /** Called with the name without the prefix. */
  isOurs: (stream: string) => boolean;
}

/** All streams are ours, without a prefix. */
export const allStreams: StreamNames = { prefix: '', isOurs: () => true };

/** Begins the name of the log's own stream with the metadata of another one, such as the revision before which readers see nothing. */
const ofMetadata = '$$';

export const nameInLog = ({ prefix }: StreamNames, stream: string): string =>
  stream.startsWith(ofMetadata) ? ofMetadata + prefix + stream.slice(ofMetadata.length) : prefix + stream;

/** @returns undefined for a stream of another system; the metadata of our streams is ours */
export function ourName(streams: StreamNames, nameInTheLog: string): string | undefined {
  const { prefix, isOurs } = streams;
  if (nameInTheLog.startsWith(ofMetadata)) {
    const stream = ourName(streams, nameInTheLog.slice(ofMetadata.length));
    return stream === undefined ? undefined : ofMetadata + stream;
  }
  if (!nameInTheLog.startsWith(prefix)) return undefined;
  const stream = nameInTheLog.slice(prefix.length);
  return isOurs(stream) ? stream : undefined;
}
