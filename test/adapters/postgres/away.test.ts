import { writeFile } from 'node:fs/promises';
import pg from 'pg';
import { expect, it } from 'vitest';
import { freePort } from '../../../src/embedded/free-port.ts';
import { isPostgresAway } from '../../../src/ports/service-parts.ts';
import { errorOf } from '../../support/event-store-under-test.ts';

const connect = (host: string, port: number) => new pg.Client({ host, port }).connect();

it.each([
  ['a server that does not listen', async () => connect('127.0.0.1', await freePort()), true],
  ['a host that is unknown', () => connect('postgres.invalid', 5432), true],
  ['a disk that is full', () => writeFile('/dev/full', 'a row'), false],
  ['a folder that is not there', () => writeFile('/nonexistent/file', 'a row'), false],
])('%s', async (_, work, isAway) => {
  const error = await errorOf(work());
  expect(error).toBeInstanceOf(Error);
  expect(isPostgresAway(error)).toBe(isAway);
});
