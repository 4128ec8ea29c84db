/** What Postgres alone has of the personal data of accounts: their keys, and rows that no event makes. */
export interface Erasures {
  /** Tells whether all billing periods of a closed account are closed and invoiced, as far as the read model knows. */
  areBooksDone(accountId: string): Promise<boolean>;
  /**
   * Deletes keys and rows of an account that is erased in the log. Repeated, it deletes what has come back.
   *
   * @param options.withDocuments the key of what documents show, too
   */
  deleteAccount(accountId: string, options: { withDocuments: boolean }): Promise<void>;
  /**
   * The same for every erased account, by the read model: a Postgres that was restored from an older backup has them again.
   *
   * @param now UTC ISO-8601: the key of documents is deleted once their time is over
   * @returns the number of keys that were deleted
   */
  deleteErased(now: string): Promise<number>;
  /** The accounts that are erased, by the read model. */
  listErased(): Promise<string[]>;
}
