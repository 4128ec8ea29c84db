import { randomBytes } from 'node:crypto';
import type { sessionSettings } from '../../src/adapters/postgres/session.ts';
import { createDatabase, type TestDatabase, withClient } from './postgres.ts';

type Settings = Readonly<Record<string, string>>;

/** Another value for each setting that our sessions state; the limits are longer than the first round trip of a session. */
const bad: Record<keyof typeof sessionSettings | 'statement_timeout', string> = {
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kolkata',
  client_encoding: 'LATIN1',
  extra_float_digits: '-15',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  backslash_quote: 'on',
  array_nulls: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  exit_on_error: 'on',
  gin_fuzzy_search_limit: '1',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '500ms',
  idle_session_timeout: '500ms',
  transaction_timeout: '500ms',
  statement_timeout: '500ms',
};

/** What is left to the operator may cost time, and changes no answer. */
const strange: Settings = {
  client_min_messages: 'error',
  constraint_exclusion: 'on',
  default_statistics_target: '1',
  default_text_search_config: 'pg_catalog.simple',
  enable_hashjoin: 'off',
  enable_indexonlyscan: 'off',
  enable_mergejoin: 'off',
  enable_seqscan: 'off',
  enable_sort: 'off',
  geqo_threshold: '2',
  join_collapse_limit: '1',
  lc_monetary: 'C',
  plan_cache_mode: 'force_custom_plan',
  random_page_cost: '100',
  row_security: 'off',
  synchronize_seqscans: 'off',
  synchronous_commit: 'off',
  timezone_abbreviations: 'India',
  work_mem: '64kB',
  xmlbinary: 'hex',
  xmloption: 'document',
};

/** An empty database whose owner is no superuser. Half of the settings are the role's, half the database's. */
export async function createBadlySetDatabase(settings: Settings = { ...bad, ...strange }): Promise<TestDatabase> {
  const database = await createDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const role = `role_${randomBytes(8).toString('hex')}`;
  const places = [`role ${role}`, `database ${name}`] as const;
  await withClient(database.url, async (client) => {
    await client.query(`create role ${role} login password 'service'; alter database ${name} owner to ${role}`);
    for (const [index, [setting, value]] of Object.entries(settings).entries())
      await client.query(
        `alter ${places[index % 2] ?? ''} set ${setting} = ${value.includes(',') ? value : `'${value}'`}`,
      );
  });
  const url = Object.assign(new URL(database.url), { username: role, password: 'service' }).href;
  const drop = async () => {
    await database.drop();
    await withClient(urlOfServer(database.url), (client) => client.query(`drop role ${role}`));
  };
  return { url, drop, [Symbol.asyncDispose]: drop };
}

const urlOfServer = (url: string) => Object.assign(new URL(url), { pathname: '/postgres' }).href;
