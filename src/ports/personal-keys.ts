/** `documents`: for what invoices show, which tax law asks for longer than for the rest. */
type PersonalKeyKind = 'personal' | 'documents';

export interface PersonalKeyName {
  /** Id of an account or of a member of staff. */
  subject: string;
  kind: PersonalKeyKind;
}

/** `unusable`: its row is there, and no secret of this installation unwraps it. Personal data under it stays as it is in the log. */
export type PersonalKey = Buffer | 'unusable';

/** Keys of 32 random bytes under which events hold personal data. They are kept outside of the log, and derived from nothing. */
export interface PersonalKeys {
  /**
   * A key is remembered for a minute at most, so that an erasure reaches every process within that time.
   *
   * @returns in the order of the names; undefined for a key that was erased, or never made
   * @throws {EventStoreUnavailable} when it is not known whether a key is there
   */
  read(names: readonly PersonalKeyName[]): Promise<(PersonalKey | undefined)[]>;
  /** The key, which is made and durable on return if it was not there. @throws {EventStoreUnavailable} */
  make(name: PersonalKeyName): Promise<PersonalKey>;
}
