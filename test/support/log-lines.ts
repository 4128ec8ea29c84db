/** Errors (pino's levels 50 and 60), and whatever is no log line at all, such as the trace of an uncaught error. */
export function unexpectedLines(log: string, expectedErrors: readonly string[] = []): string[] {
  return log.split('\n').filter((line) => {
    if (line === '') return false;
    if (!line.startsWith('{')) return true;
    const { level, msg } = JSON.parse(line) as { level: number; msg?: string };
    return level >= 50 && !expectedErrors.includes(msg ?? '');
  });
}

/** An error that a test expects if it changes rows by hand: the audit beside the dispatcher may look meanwhile. */
export const auditFoundDivergence = 'the audit found a divergence: a value does not follow from the log';

/** The lines of a log that are JSON, which are all but those of other programs. */
export const jsonLines = <Line>(log: string): Line[] =>
  log.split('\n').flatMap((line) => (line.startsWith('{') ? (JSON.parse(line) as Line) : []));
