/** The log, as the audit reads it. It is declared here because the audit shares no code with the service, not even a type. */

export interface RecordedEvent {
  stream: string;
  /** Position within the stream, from 0. */
  revision: number;
  id: string;
  type: string;
  /** Any JSON; not parsed yet. */
  data: unknown;
  /** The data as the log holds it, where personal data in `data` was decrypted: the hash chain covers this form. */
  stored?: unknown;
  metadata: unknown;
  /** Commit position in the whole log; rises with every event. */
  position: bigint;
}

export interface Log {
  /**
   * The events of a stream from a revision on, in order; empty if the stream does not exist or ends before it.
   *
   * @param maxCount default: all
   * @throws when the log cannot be read now
   */
  read(stream: string, fromRevision: number, maxCount?: number): Promise<RecordedEvent[]>;
  /** Position of the newest event, or undefined when the log is empty. @throws when it cannot be read now */
  headPosition(): Promise<bigint | undefined>;
  /**
   * The next events behind a commit position, in order, with the metadata of streams (`$$` and the name); empty at the end.
   *
   * @param after -1n for the start
   * @throws when the log cannot be read now
   */
  readAll(after: bigint, maxCount: number): Promise<RecordedEvent[]>;
}
