/** Whether this is the long proof (PROOF_SCALE=long) rather than the run that accompanies every change. */
export const isLongProof = process.env['PROOF_SCALE'] === 'long';

/** How much of something to do: `usual` now, `long` (default: twenty times as much) in the long proof. */
export function scaled(usual: number, long: number = usual * 20): number {
  return isLongProof ? long : usual;
}

/** The most milliseconds that something may take. How fast a busy machine is, only the long proof says. */
export const atMostMs = (long: number): number => scaled(20_000, long);
