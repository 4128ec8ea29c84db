import { z } from 'zod';
import type { JsonView } from '../view.ts';
import { books, shownBooks } from './books.ts';
import { shownWork, work } from './work.ts';

const shown = z.strictObject({ books: shownBooks, work: shownWork });

/** What two pages show. */
export const operation: JsonView<object, z.infer<typeof shown>> = {
  operationId: 'getOperation',
  summary: 'The service itself: what the verification says, read models, queue, workers, how downloads end',
  input: z.object({}),
  shown,
  read: async (dependencies) => {
    const [ofBooks, ofWork] = await Promise.all([books.read(dependencies, {}), work.read(dependencies, {})]);
    return { books: ofBooks, work: ofWork };
  },
};
