import { writeFileSync } from 'node:fs';
import type { SerializedError } from 'vitest';
import { DefaultReporter, type TestModule, type TestRunEndReason, type TestSpecification } from 'vitest/node';

const everyMs = 10_000;
/** How many of the running files, or of the dearest ones at the end, are named. */
const named = 5;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(0)} s`;
const nameOf = (path: string): string => path.replace(/^.*\/test\//, '').replace(/\.test\.ts$/, '');

/** Each in a line or two, as soon as its file has ended; the report at the end of the run shows where. */
function failuresOf(module: TestModule): string[] {
  const tests = [...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? []);
  const groups = [...module.children.allSuites()].flatMap((suite) => suite.errors());
  return [...module.errors(), ...groups, ...tests].map(({ message }) => `${nameOf(module.moduleId)}: ${message}`);
}

/**
 * Says every ten seconds how far the run is and what takes long, where no terminal shows it all the time. Of the files only
 * those are printed that fail; at the end, those that took longest.
 */
export default class ProgressReporter extends DefaultReporter {
  readonly #startedMs = new Map<string, number>();
  #files = { all: 0, ended: 0, failed: 0 };
  #tests = 0;
  #timer: NodeJS.Timeout | undefined;

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    this.#files = { all: specifications.length, ended: 0, failed: 0 };
    const groups = [...new Set(specifications.map(({ project }) => project.name))];
    this.log(`${groups.join(' and ')}: ${String(specifications.length)} files`);
    if (!this.isTTY) this.#timer = setInterval(() => this.#sayHowFar(), everyMs);
  }

  override onTestModuleQueued(module: TestModule): void {
    super.onTestModuleQueued(module);
    this.#startedMs.set(module.moduleId, performance.now());
  }

  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module);
    this.#startedMs.delete(module.moduleId);
    this.#files.ended += 1;
    if (!module.ok()) this.#files.failed += 1;
    for (const message of failuresOf(module)) this.log(message);
    this.#tests += [...module.children.allTests()].length;
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    clearInterval(this.#timer);
    const failedFilesPath = process.env['FAILED_TEST_FILES'];
    const failed = modules.filter((module) => !module.ok()).map((module) => module.moduleId);
    // With an error that belongs to no file, the files are not all that failed.
    if (failedFilesPath !== undefined && unhandledErrors.length === 0)
      writeFileSync(failedFilesPath, failed.join('\n'));
    super.onTestRunEnd(modules, unhandledErrors, reason);
    const longest = modules
      .map((module) => ({ path: module.moduleId, ms: module.diagnostic().duration }))
      .sort((one, other) => other.ms - one.ms)
      .slice(0, named);
    if (modules.length > named)
      this.log(`longest: ${longest.map(({ path, ms }) => `${nameOf(path)} ${seconds(ms)}`).join(', ')}`);
    this.log(`PROOF_SEED=${process.env['PROOF_SEED'] ?? ''} repeats this run`);
  }

  /** A file that passes is only counted. */
  protected override printTestModule(module: TestModule): void {
    if (this.#files.all <= named || !module.ok()) super.printTestModule(module);
  }

  #sayHowFar(): void {
    const { all, ended, failed } = this.#files;
    const nowMs = performance.now();
    const running = [...this.#startedMs]
      .sort(([, one], [, other]) => one - other)
      .slice(0, named)
      .map(([path, startedMs]) => `${nameOf(path)} ${seconds(nowMs - startedMs)}`);
    const failures = failed === 0 ? '' : `, ${String(failed)} FAILED`;
    this.log(
      `${String(ended)} of ${String(all)} files${failures}, ${String(this.#tests)} tests; now: ${running.join(', ')}`,
    );
  }
}
