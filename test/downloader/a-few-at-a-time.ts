/** Two cores, and each download is a process of its own. */
const atATime = 3;

/** Works on all cases, a few at a time. */
export async function aFewAtATime<Case>(cases: readonly Case[], work: (each: Case) => Promise<void>): Promise<void> {
  const left = [...cases];
  const next = async () => {
    for (let each = left.shift(); each !== undefined; each = left.shift()) await work(each);
  };
  await Promise.all(Array.from({ length: atATime }, next));
}
