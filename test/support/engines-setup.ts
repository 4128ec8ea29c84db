/** Runs once before the tests of vitest.engines.config.ts: sees to it that there are engines to test against. */
import { startContainers } from './containers.ts';

const names = ['EVENTSTORE_URL', 'DATABASE_URL', 'NATS_URL'] as const;

export default async function setUp(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['TEST_ENGINES'] === 'containers') {
    const { addresses, stop } = await startContainers((sentence) => console.log(sentence));
    // The processes that run the tests inherit them.
    Object.assign(process.env, addresses);
    return stop;
  }
  const given = names.filter((name) => process.env[name]);
  if (given.length === 0) {
    throw new Error(`Set ${names.join(', ')} (or some of them) to the addresses of engines for tests alone.`);
  }
  for (const name of names)
    console.log(`${name}: ${given.includes(name) ? 'as given' : 'not given, so the embedded one'}`);
  return undefined;
}
