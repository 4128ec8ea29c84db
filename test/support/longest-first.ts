import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What opens browsers and makes films. */
const takesLong = /\/test\/(?:console|flow)\//;

/** The order of vitest, by the durations of earlier runs; on a new machine, where it knows of none, a guess by folder. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    if (sorted.every((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined)) return sorted;
    const rank = ({ moduleId }: TestSpecification) => (takesLong.test(moduleId) ? 0 : 1);
    // Each project has processes of its own, and vitest runs one project after the other.
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).toSorted((a, b) => rank(a) - rank(b)),
    );
  }
}
