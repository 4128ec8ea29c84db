import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { environment } from '../../src/main/settings/config.ts';
import { machines } from '../../src/system/machine-parts.js';
import { root } from '../tidy/source-files.ts';
import { composeFile, deployFile } from './compose-file.ts';
import docker from './docker-default-calls.json' with { type: 'json' };

const lines = deployFile('Dockerfile')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n');
const instructions = lines.filter((line) => /^[A-Z]+ /.test(line));

/** The instructions of each stage by its name; those before the first under ''. */
const stages = new Map<string, string[]>([['', []]]);
for (const instruction of instructions) {
  const [, name] = /^FROM .* AS (\S+)$/.exec(instruction) ?? [];
  if (instruction.startsWith('FROM ')) stages.set(name ?? 'default', []);
  [...stages.values()].at(-1)?.push(instruction);
}
const [slim = [], packages = [], full = []] = ['slim', 'packages', 'full'].map((name) => stages.get(name));

const valuesOf = (instruction: string | undefined) =>
  Object.fromEntries([...(instruction ?? '').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]));

describe('the image', () => {
  it('has the version of the service', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(slim).toContain(`ARG VERSION=${version}`);
    const tags = deployFile('kubernetes/overlays/production/shared/kustomization.yaml').match(/newTag: \S+/g);
    expect(tags).toEqual([`newTag: slim-${version}`, `newTag: worker-${version}`]);
  });

  it('takes its base images and the registry of npm as arguments', () => {
    expect(stages.get('')).toEqual(['ARG NODE_IMAGE=node:24-bookworm-slim', 'ARG BASE_IMAGE=debian:bookworm-slim']);
    expect(packages).toContain('ARG NPM_REGISTRY=https://registry.npmjs.org/');
    const bases = instructions.flatMap((line) => /^FROM (\S+)/.exec(line)?.[1] ?? []);
    const known = [...stages.keys(), '${NODE_IMAGE}', '${BASE_IMAGE}', 'scratch', 'worker-${TARGETARCH}'];
    expect(bases.filter((base) => !known.includes(base))).toEqual([]);
  });

  it('runs as a user without a name in the machine, and with a health check', () => {
    expect(slim).toContain('USER 10001:10001');
    for (const [name, stage] of stages) {
      const users = stage.filter((line) => line.startsWith('USER '));
      if (users.length > 0) expect([name, users.at(-1)]).toEqual([name, 'USER 10001:10001']);
    }
    expect(slim.some((line) => line.startsWith('HEALTHCHECK ') && line.includes('/readyz'))).toBe(true);
  });

  it('sets settings that exist, and one port for the health checks of every role', () => {
    const set = valuesOf(slim.find((line) => line.startsWith('ENV ')));
    const known = [...Object.keys(environment.shape), 'NODE_ENV'];
    expect(Object.keys(set).filter((name) => !known.includes(name))).toEqual([]);
    expect(set['PORT']).toBe(set['HEALTH_PORT']);
    expect(slim).toContain(`EXPOSE ${set['PORT'] ?? ''}`);
    for (const directory of ['REELTALLY_DATA', 'WORK_DIRECTORY'])
      expect(composeFile().services['worker']?.volumes.join()).toContain(`:${set[directory] ?? ''}`);
  });

  it('has in the slim target neither downloaders nor servers, and in the full one both', () => {
    const { node, postgres, natsServer, downloader } = machines['linux-x64']!.packages;
    const taken = packages.join('\n');
    expect(taken).toContain(`move ${downloader ?? ''} /downloader`);
    for (const name of [postgres, natsServer]) expect(taken).toContain(`move ${name?.split('/')[0] ?? ''} /embedded`);
    expect(node).toMatch(/^node-/);
    expect(taken).toContain('rm -rf node_modules/node-*');
    expect(full).toContain('COPY --from=packages /embedded node_modules');
  });

  it('copies what .dockerignore lets through, and no tests', () => {
    const allowed = readFileSync(join(root, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    const passed = allowed.map((line) => line.slice(1));
    expect(passed.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const copied = [...slim, ...packages]
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from'))
      .flatMap((line) => line.split(' ').slice(1, -1));
    expect(copied.filter((path) => !passed.includes(path))).toEqual([]);
    expect(copied.filter((path) => path.startsWith('test'))).toEqual([]);
  });
});

describe('the seccomp profile of workers', () => {
  const profile = z
    .object({
      defaultAction: z.string(),
      defaultErrnoRet: z.number(),
      syscalls: z.array(
        z.object({
          names: z.array(z.string()),
          action: z.string(),
          args: z.array(z.object({ index: z.number(), value: z.number(), op: z.string() })).optional(),
        }),
      ),
    })
    .parse(JSON.parse(deployFile('seccomp/worker.json')));
  const allowed = profile.syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW');
  const namesOf = (rules: typeof allowed) => [...new Set(rules.flatMap(({ names }) => names))].sort();

  it('allows what Docker’s own does, what the sandbox needs, and nothing else', () => {
    expect(profile).toMatchObject({ defaultAction: 'SCMP_ACT_ERRNO', defaultErrnoRet: 1 });
    const names = namesOf(allowed);
    expect(names.filter((name) => !docker.names.includes(name))).toEqual([
      // mount, of older and of newer kinds, and what puts a child into its place.
      ...['fsconfig', 'fsmount', 'fsopen', 'mount', 'mount_setattr', 'move_mount', 'open_tree'],
      ...['pidfd_getfd', 'pivot_root', 'setns', 'umount2', 'unshare'],
    ]);
    expect(docker.names.filter((name) => !names.includes(name))).toEqual([
      ...['modify_ldt', 'process_vm_readv', 'process_vm_writev', 'ptrace', 'socketcall'],
    ]);
  });

  it('allows by their arguments what Docker’s own does, and fewer sockets', () => {
    const withArguments = allowed.filter(({ args }) => args !== undefined);
    expect(namesOf(withArguments)).toEqual(['clone', 'personality', 'socket']);
    const families = withArguments.filter(({ names }) => names.includes('socket'));
    // Local ones, both kinds of internet addresses, and netlink.
    expect(families.flatMap(({ args }) => args?.map(({ value }) => value))).toEqual([1, 2, 10, 16]);
    const always = allowed.filter(({ args }) => args === undefined);
    expect(namesOf(always).filter((name) => namesOf(withArguments).includes(name))).toEqual([]);
  });
});
