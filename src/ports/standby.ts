/** Postgres has stored a change, and its standby has not said in time that it has it too: a promotion of the standby may lose it. */
export class NotOnStandby extends Error {
  override readonly name = 'NotOnStandby';

  /** @param reason of Postgres */
  constructor(reason: string) {
    super(`the standby of Postgres has not confirmed in time: ${reason}`);
  }
}
