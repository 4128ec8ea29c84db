import { z } from 'zod';
import type { JsonView } from '../view.ts';
import { books } from './books.ts';
import { work } from './work.ts';

const shown = z.strictObject({ books: books.shown, work: work.shown });

/** The service itself, for programs: what two pages show. */
export const operation: JsonView<object, z.infer<typeof shown>> = {
  input: z.object({}),
  shown,
  read: async (dependencies) => {
    const [ofBooks, ofWork] = await Promise.all([books.read(dependencies, {}), work.read(dependencies, {})]);
    return { books: ofBooks, work: ofWork };
  },
};
