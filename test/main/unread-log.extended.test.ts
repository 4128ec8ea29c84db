import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { readMetric } from '../support/scraped-metrics.ts';
import { cliCommand, environmentWith, startOnTerminal } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const installation = installationOfFile({ PLANS_FILE: planFile({ hourly_limit: 10_000 }) });
let key: string;
beforeAll(async () => {
  await installation.startRole('projector');
  ({ key } = await installation.openAccount());
});

/** A pipe of the kernel, of which this test has both ends. */
interface Pipe {
  /** The end that a process writes to. */
  fd: number;
  /** What waits in it now. */
  read: () => string;
  /** Puts in what nobody reads, until it takes no more. */
  fill: () => void;
}

function openPipe(): Pipe {
  const path = join(temporaryDirectory(), 'pipe');
  execFileSync('mkfifo', [path]);
  const own = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY);
  onTestFinished(() => {
    closeSync(own);
    closeSync(fd);
  });
  const chunk = Buffer.alloc(65_536);
  const untilItWaits = (step: () => number) => {
    try {
      while (step() > 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  };
  return {
    fd,
    read: () => {
      let text = '';
      untilItWaits(() => {
        const size = readSync(own, chunk);
        text += chunk.toString('utf8', 0, size);
        return size;
      });
      return text;
    },
    fill: () => {
      for (const size of [4_096, 1]) untilItWaits(() => writeSync(own, Buffer.alloc(size, ' ')));
    },
  };
}

const lostLines = async (url: string) => (await readMetric(url, 'reeltally_log_lines_lost_total')) ?? NaN;

const credits = async (url: string, key: string) =>
  (await fetch(`${url}/api/v1/credits`, { headers: { authorization: `Bearer ${key}` } })).status;

const urlIn = (output: string) => /"url":"([^"]+)"/.exec(output)?.[1];

function spawnApi(output: Pipe | 'pipe', environment: Record<string, string>) {
  const [command = '', ...words] = [...cliCommand, ...['serve', '--role', 'api', '--json']];
  const to = output === 'pipe' ? output : output.fd;
  const child = spawn(command, words, {
    env: environmentWith({ ...installation.environment, PORT: '0', LOG_LEVEL: 'debug', ...environment }),
    stdio: ['ignore', to, to],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, ended: once(child, 'exit') };
}

describe('a service whose output nobody reads', () => {
  it('answers, counts the lines that are lost, says how many once somebody reads again, and stops', async () => {
    await using postgres = await startPostgresProxy(installation.environment.DATABASE_URL);
    const pipe = openPipe();
    // As `serve 2>&1 | reader` has it.
    const { child, ended } = spawnApi(pipe, { DATABASE_URL: postgres.url });
    let read = '';
    const url = await waitFor(() => urlIn((read += pipe.read())), { what: 'the API to be ready' });
    const status = () => credits(url, key);
    const lost = () => lostLines(url);
    expect([await status(), await lost()]).toEqual([200, 0]);
    pipe.fill();
    // Each request that fails is a line with the whole error.
    postgres.setAway(true);
    await waitFor(
      async () => {
        expect(new Set(await Promise.all(Array.from({ length: 50 }, status)))).toEqual(new Set([503]));
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
        return (await lost()) > 10;
      },
      { what: 'lines to be lost', pollMs: 0 },
    );
    postgres.setAway(false);
    await waitFor(async () => (await status()) === 200, { what: 'requests to be answered' });
    const told = await waitFor(() => /\{[^\n]*because nobody read them"\}/.exec((read += pipe.read()))?.[0], {
      what: 'the line that says so',
    });
    expect(JSON.parse(told)).toMatchObject({ level: 40, lines: await lost() });
    pipe.fill();
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it('ends where it cannot start', async () => {
    const pipe = openPipe();
    pipe.fill();
    const { ended } = spawnApi(pipe, { PORT: 'none' });
    expect(await ended).toEqual([1, null]);
  });

  it('goes on where its log has no reader any more', async () => {
    await using postgres = await startPostgresProxy(installation.environment.DATABASE_URL);
    const { child, ended } = spawnApi('pipe', { DATABASE_URL: postgres.url });
    let output = '';
    child.stdout?.on('data', (text: Buffer) => (output += text.toString()));
    const url = await waitFor(() => urlIn(output), { what: 'the API to be ready' });
    child.stderr?.destroy();
    postgres.setAway(true);
    const isLost = async () => (await lostLines(url)) > 0;
    await waitFor(isLost, { what: 'a line to be lost' });
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it('answers on a terminal that was stopped by Ctrl-S', async () => {
    await using postgres = await startPostgresProxy(installation.environment.DATABASE_URL);
    const environment = { ...installation.environment, LOG_LEVEL: 'debug', DATABASE_URL: postgres.url };
    await using terminal = startOnTerminal([...cliCommand, 'serve', '--role', 'api'], environment);
    const url = await waitFor(() => /API +(http\S+)\/api\/v1/.exec(terminal.screen())?.[1], {
      what: 'the API to be ready',
    });
    terminal.type('\u0013');
    postgres.setAway(true);
    // Far more lines than a terminal keeps for itself.
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 20 }, () => credits(url, key)));
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const shown = terminal.screen().length;
    terminal.type('\u0011');
    await waitFor(() => terminal.screen().length > shown + 16_384, { what: 'the lines' });
    terminal.type('\u0003');
    expect(await terminal.code).toBe(0);
  });
});

it('a program that ends with an error has handed over all that it wrote, however late it is read', async () => {
  const file = new URL('../../src/main/log-output.ts', import.meta.url).href;
  const program =
    `const { handOver } = await import('${file}');` +
    "process.stdout.write('x'.repeat(1_000_000)); await handOver(process.stdout, Infinity); process.exit(1);";
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  // Nobody reads before the pipe is full.
  await waitFor(() => child.stdout.readableLength > 0, { what: 'its first bytes' });
  expect((await text(child.stdout)).length).toBe(1_000_000);
  expect(await ended).toEqual([1, null]);
});
