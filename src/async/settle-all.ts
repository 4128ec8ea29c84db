/**
 * Waits until all have ended, also those beside one that fails, so that none of them is under way any more.
 *
 * @returns their results
 * @throws the first failure, in the order given
 */
export async function settleAll<Result>(all: readonly Promise<Result>[]): Promise<Result[]> {
  return (await Promise.allSettled(all)).map((ended) => {
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  });
}
