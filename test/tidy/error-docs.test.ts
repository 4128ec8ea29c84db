import { describe, expect, it } from 'vitest';
import { failureReasons } from '../../src/domain/failure-reasons.ts';
import { endpoints } from '../../src/http/endpoints.ts';
import { type ApiErrorCode, apiErrors, errorsOfEveryEndpoint } from '../../src/http/errors.ts';
import { fileRefusals } from '../../src/http/files/file-refusals.ts';
import { codeIn, tableOf } from './markdown.ts';

const page = 'docs/errors.md';
const everyEndpoint: readonly ApiErrorCode[] = errorsOfEveryEndpoint;

/** The endpoints that list an error as their own, as the page names them. */
function endpointsWith(code: ApiErrorCode): string[] {
  const own = endpoints.filter(({ reference }) => reference.errors.includes(code) && !everyEndpoint.includes(code));
  return own.map(({ method, path }) => `${method} ${path}`);
}

function expectFull(rows: readonly Record<string, string>[]): void {
  const empty = rows.flatMap((row) => Object.entries(row).filter(([, cell]) => cell.trim() === ''));
  expect(empty).toEqual([]);
}

describe('docs/errors.md', () => {
  it('has every error of the API with its status and its endpoints, and no other', () => {
    const rows = tableOf(page, 'Answers of the API');
    const documented = rows.map((row) => ({
      code: codeIn(row['code']),
      status: Number(row['status']),
      endpoints: [...(row['answered by'] ?? '').matchAll(/`((?:GET|POST) [^`]+)`/g)].map(([, name]) => name),
      everywhere: row['answered by'] === 'every endpoint',
    }));
    const codes = Object.keys(apiErrors) as ApiErrorCode[];
    expect(documented).toEqual(
      codes.map((code) => ({
        code,
        status: apiErrors[code].status,
        endpoints: endpointsWith(code),
        everywhere: everyEndpoint.includes(code),
      })),
    );
    expectFull(rows);
  });

  it('has every answer of a download link', () => {
    const rows = tableOf(page, 'Answers of a download link');
    const documented = rows.map((row) => [row['status'], codeIn(row['code'])]);
    expect(documented).toEqual(Object.entries(fileRefusals).map(([status, { code }]) => [status, code]));
    expectFull(rows);
  });

  it('has every reason for which a download fails, with its message and whether it is tried again', () => {
    const rows = tableOf(page, 'Why a download fails');
    const documented = rows.map((row) => [codeIn(row['reason']), row['tried again'] === 'yes', row['message']]);
    expect(documented).toEqual(
      Object.entries(failureReasons).map(([reason, { retryable, message }]) => [reason, retryable, message]),
    );
    expectFull(rows);
  });
});
