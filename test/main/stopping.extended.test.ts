import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../src/embedded/free-port.ts';
import { runIn } from '../cli/command-line.ts';
import { isAlive } from '../embedded/owned.ts';
import { EventStoreProxy } from '../support/event-store-proxy.ts';
import { prepareEngine } from '../support/films-and-engine-of-run.ts';
import { installationOfFile } from '../support/installation.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { startRefusingEventStore } from '../support/refusing-event-store.ts';
import { cliCommand, spawnCommand } from '../support/service.ts';
import { type SilentServer, startSilentServer } from '../support/silent-server.ts';
import { temporaryDataDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const parts = ['EVENTSTORE_URL', 'DATABASE_URL', 'NATS_URL'] as const;
const roles = ['all', 'api', 'projector', 'dispatcher', 'worker'] as const;
/** Each role beside role all, at one of the parts; the long proof has every role at every part. */
const someRoles = {
  EVENTSTORE_URL: ['all', 'api', 'worker'],
  DATABASE_URL: ['all', 'projector'],
  NATS_URL: ['all', 'dispatcher'],
} as const;
const rolesAt = (part: (typeof parts)[number]): readonly string[] => (isLongProof ? roles : someRoles[part]);
const stopLimitMs = 10_000;
/** A process looks twice a second whether its npm is there. */
const noticedWithinMs = 1_000;

const installation = installationOfFile();
beforeAll(async () => {
  // The schema is there, so that a start meets the part that does not answer, and nothing else that takes long.
  await (await installation.startRole('projector')).stop();
  await prepareEngine();
});

const addressOf = (part: (typeof parts)[number]) => installation.environment[part] ?? '';
const withPort = (url: string, port: number) => url.replace(/(@|\/\/)127\.0\.0\.1:\d+/, `$1127.0.0.1:${String(port)}`);
const serve = (role: string, more: Record<string, string>) =>
  // Its own folder: only one process has it at a time in role all.
  spawnCommand(['serve', '--role', role], {
    ...installation.environment,
    ...(role === 'all' && { REELTALLY_DATA: temporaryDataDirectory() }),
    ...more,
  });

/** SIGTERM, and how long it took to end. */
async function stopped(child: ChildProcess): Promise<{ code: number | null; inTime: boolean }> {
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const sentMs = performance.now();
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), stopLimitMs + 10_000);
  const [code] = await exited;
  clearTimeout(late);
  return { code, inTime: performance.now() - sentMs < stopLimitMs };
}

describe('SIGTERM while a part has never said a word', () => {
  it.each(parts)('%s: each role ends in time', async (part) => {
    const ended = await Promise.all(
      rolesAt(part).map(async (role) => {
        await using silent: SilentServer = await startSilentServer();
        const child = serve(role, { [part]: withPort(addressOf(part), silent.port) });
        await waitFor(() => silent.hasCallers(), { what: `${role} to call ${part}` });
        return { role, ...(await stopped(child)) };
      }),
    );
    expect(ended).toEqual(rolesAt(part).map((role) => ({ role, code: 0, inTime: true })));
  });
});

/** The three parts behind proxies that can fall silent, and the environment that leads through them. */
async function silenceable() {
  const proxies = await Promise.all(
    parts.map(async (part) => {
      const port = Number(/:(\d+)(?:[/?]|$)/.exec(addressOf(part).replace(/^.*@/, '//'))?.[1]);
      const proxy = await EventStoreProxy.start(port);
      return { proxy, part, url: withPort(addressOf(part), Number(new URL(proxy.url).port)) };
    }),
  );
  return {
    environment: Object.fromEntries(proxies.map(({ part, url }) => [part, url])),
    silence: () => {
      for (const { proxy } of proxies) proxy.silence();
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(proxies.map(({ proxy }) => proxy.close()));
    },
  };
}

async function isReady(stdout: Readable, who: string): Promise<void> {
  let told = '';
  stdout.on('data', (text: Buffer) => (told += text.toString()));
  await waitFor(() => told.includes('http://'), { what: `${who} to be ready` });
}

describe('SIGTERM once every part has fallen silent', () => {
  it('each role ends in time', async () => {
    await using behind = await silenceable();
    const running = roles.map((role) => ({ role, child: serve(role, behind.environment) }));
    await Promise.all(running.map(({ child, role }) => isReady(child.stdout, role)));
    behind.silence();
    const ended = await Promise.all(running.map(async ({ role, child }) => ({ role, ...(await stopped(child)) })));
    expect(ended).toEqual(roles.map((role) => ({ role, code: 0, inTime: true })));
  });
});

describe('the end of the npm that started it', () => {
  const startByNpm = (environment: NodeJS.ProcessEnv) =>
    spawn('sh', ['-c', '"$@" & echo $!; wait', 'sh', ...cliCommand, 'serve'], {
      env: {
        ...installation.environment,
        PATH: process.env['PATH'],
        PORT: '0',
        npm_lifecycle_event: 'start',
        REELTALLY_DATA: temporaryDataDirectory(),
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const pidFrom = async (stdout: Readable) => {
    const [line] = (await once(stdout, 'data')) as [Buffer];
    return Number.parseInt(line.toString(), 10);
  };

  it('ends it in time too, while it starts and a part never says a word', async () => {
    await using silent = await startSilentServer();
    const npm = startByNpm({ DATABASE_URL: withPort(addressOf('DATABASE_URL'), silent.port) });
    const pid = await pidFrom(npm.stdout);
    await waitFor(() => silent.hasCallers(), { what: 'it to call Postgres' });
    npm.kill('SIGKILL');
    await waitFor(() => !isAlive(pid), { what: 'it to end', timeoutMs: noticedWithinMs + stopLimitMs });
  });

  it('ends it in time too, once every part has fallen silent', async () => {
    await using behind = await silenceable();
    const npm = startByNpm(behind.environment);
    const pid = await pidFrom(npm.stdout);
    await isReady(npm.stdout, 'it');
    behind.silence();
    npm.kill('SIGKILL');
    await waitFor(() => !isAlive(pid), { what: 'it to end', timeoutMs: noticedWithinMs + stopLimitMs });
  });
});

/** Starts roles with a setting that they cannot use, and waits for their end. */
const startsInVain = (part: (typeof parts)[number], url: string) =>
  Promise.all(
    rolesAt(part).map(async (role) => {
      const environment = { ...installation.environment, REELTALLY_DATA: temporaryDataDirectory(), [part]: url };
      const { code, stderr } = await runIn(environment)('serve', '--json', '--role', role);
      return { role, code, stderr };
    }),
  );

describe('a server that is away at the start', () => {
  const names = { EVENTSTORE_URL: 'The event store', DATABASE_URL: 'Postgres', NATS_URL: 'NATS' } as const;

  it.each(parts)('%s: one line with its name, host and variable', async (part) => {
    const port = await freePort();
    const told = await startsInVain(part, withPort(addressOf(part), port));
    const line = `reeltally: ${names[part]} at 127.0.0.1:${String(port)} (${part}) cannot be used: no server listens there\n`;
    expect(told).toEqual(rolesAt(part).map((role) => ({ role, code: 1, stderr: line })));
  });
});

describe('a server that refuses us at the start', () => {
  const withWrongPassword = (part: (typeof parts)[number]) => addressOf(part).replace(/:[^:@/]+@/, ':wrong-password@');

  it.each([
    ['Postgres', 'DATABASE_URL'],
    ['NATS', 'NATS_URL'],
  ] as const)('%s: one line and exit 1', async (name, part) => {
    await expectRefusals(name, part, withWrongPassword(part));
  });

  it('the event store: one line and exit 1', async () => {
    await using refusing = await startRefusingEventStore();
    await expectRefusals('The event store', 'EVENTSTORE_URL', refusing.url);
  });

  async function expectRefusals(name: string, part: (typeof parts)[number], url: string): Promise<void> {
    for (const { role, code, stderr } of await startsInVain(part, url)) {
      expect({ role, code }).toEqual({ role, code: 1 });
      expect(stderr, role).toMatch(new RegExp(`^reeltally: ${name} .*\n$`));
      expect(stderr).not.toContain('wrong-password');
    }
  }
});
