import { BaseSequencer, type TestSpecification } from 'vitest/node';

const isOfPages = ({ moduleId }: TestSpecification) => /\/pages(?:\.\w+)?\.test\.ts$/.test(moduleId);

/**
 * The order of vitest: by the durations of earlier runs. Where it knows none, it begins with large files: those that look at all
 * pages of a console are small and take longest, and each would end the run on one core alone.
 */
export default class PagesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    if (sorted.every((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined)) return sorted;
    // Each project has processes of its own, and vitest runs one project after the other.
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).toSorted((a, b) => Number(isOfPages(b)) - Number(isOfPages(a))),
    );
  }
}
