/** Days as people read them, from instants as they are stored: in UTC, whatever zone and language the process runs in. */

const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July'],
  ...['August', 'September', 'October', 'November', 'December'],
];

/** @param instant UTC ISO-8601 @returns such as `1 November 2026` */
export function formatDay(instant: string): string {
  return `${String(Number(instant.slice(8, 10)))} ${months[Number(instant.slice(5, 7)) - 1] ?? ''} ${instant.slice(0, 4)}`;
}

/** A period by its first and its last day. @param end exclusive, at the beginning of a day */
export function formatDays(start: string, end: string): string {
  return `${formatDay(start)} to ${formatDay(new Date(Date.parse(end) - 1).toISOString())}`;
}
