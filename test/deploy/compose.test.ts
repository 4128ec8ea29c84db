import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { roles } from '../../src/main/roles/role.ts';
import { environment, readConfig, secretSettings } from '../../src/main/settings/config.ts';
import { fileVariable } from '../../src/main/settings/secret-files.ts';
import { root } from '../tidy/source-files.ts';
import { composeFile, deployFile } from './compose-file.ts';

const { services, networks, volumes, secrets } = composeFile();
const ofRoles = Object.fromEntries(roles.map((role) => [role, services[role]!]));
/** The services of each server: the first one alone, or all of them with the profile `cluster`. */
const servers = {
  'event-store': ['event-store', 'event-store-2', 'event-store-3'],
  postgres: ['postgres', 'postgres-standby'],
  nats: ['nats', 'nats-2', 'nats-3'],
};
const settings = Object.keys(environment.shape).filter((name) => !['npm_lifecycle_event', 'PATH'].includes(name));

describe('the services of compose.yaml', () => {
  it.each(roles)('run the role %s', (role) => {
    expect(ofRoles[role]?.command).toEqual(['serve', '--role', role]);
    expect(ofRoles[role]?.build?.target).toBe(role === 'worker' ? 'worker' : 'slim');
  });

  it.each(Object.entries(services))('%s has no more rights than it needs, a limit and a restart', (name, service) => {
    expect(service.read_only).toBe(true);
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.ulimits).toEqual({ core: 0 });
    expect(service.security_opt).toContain('no-new-privileges:true');
    expect(service.mem_limit).toMatch(/^\d+[mg]$/);
    const restarts: Record<string, string> = { 'event-store-users': 'on-failure:10', 'event-store-volumes': 'no' };
    expect(service.restart).toBe(restarts[name] ?? 'unless-stopped');
    const ofPostgres = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'];
    const added: Record<string, string[]> = {
      postgres: ofPostgres,
      'postgres-standby': ofPostgres,
      'event-store-volumes': ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'],
      proxy: ['NET_BIND_SERVICE'],
    };
    expect(service.cap_add).toEqual(added[name] ?? []);
  });

  it('let only the proxy be reached from outside this machine', () => {
    const published = Object.entries(services).flatMap(([name, { ports }]) => ports.map((port) => [name, port]));
    const open = published.filter(([, port]) => !port?.startsWith('127.0.0.1:')).map(([name]) => name);
    expect([...new Set(open)]).toEqual(['proxy']);
  });

  it('keep the servers, and the projector, from the internet', () => {
    expect(networks).toEqual({ back: { internal: true }, front: { internal: false } });
    for (const name of [...Object.values(servers).flat(), 'event-store-users', 'projector'])
      expect(services[name]?.networks).toEqual(['back']);
    expect(services['proxy']?.networks).toEqual(['front']);
  });

  it('start in the order of their health', () => {
    for (const role of roles)
      expect(ofRoles[role]?.depends_on).toMatchObject({
        'event-store-users': { condition: 'service_completed_successfully' },
        postgres: { condition: 'service_healthy' },
        nats: { condition: 'service_healthy' },
      });
    expect(services['proxy']?.depends_on).toEqual({ api: { condition: 'service_healthy' } });
  });

  it('name volumes, secrets and files that exist', () => {
    const mounted = Object.values(services).flatMap((service) =>
      service.volumes.map((volume) => volume.split(':')[0]!),
    );
    const named = mounted.filter((source) => !source.startsWith('.'));
    expect([...new Set(named)].sort()).toEqual(Object.keys(volumes).sort());
    const used = Object.values(services).flatMap((service) => service.secrets);
    expect([...new Set(used)].sort()).toEqual(Object.keys(secrets).sort());
    // prepare.sh makes these.
    const made = ['./secrets/trusted', './downloader', './platforms/rules', './platforms/secrets'];
    expect(deployFile('prepare.sh')).toContain(`\nmkdir -p ${made.map((path) => path.slice(2)).join(' ')}\n`);
    const files = mounted.filter((source) => source.startsWith('.') && !made.includes(source));
    expect(files.filter((source) => !existsSync(join(root, 'deploy', source)))).toEqual([]);
  });

  it('give rules about platforms to API and workers, and cookies to workers alone', () => {
    const readers = (source: string) =>
      Object.keys(services).filter((name) => services[name]?.volumes.some((volume) => volume.startsWith(`${source}:`)));
    expect(readers('./platforms/rules')).toEqual(['api', 'worker']);
    expect(readers('./platforms/secrets')).toEqual(['worker']);
    const [, file = ''] = /^#PLATFORM_RULES_FILE=(.*)$/m.exec(deployFile('env.example')) ?? [];
    for (const role of ['api', 'worker'])
      expect(services[role]?.volumes).toContain(`./platforms/rules:${file.slice(0, file.lastIndexOf('/'))}:ro`);
  });

  it('take the images that the tests with containers take', () => {
    const taken = /eventstore\/eventstore:[\d.]+|postgres:\d+|nats:[\d.]+/g;
    const source = readFileSync(join(root, 'test/support/containers.ts'), 'utf8');
    const ours = ['event-store', 'postgres', 'nats'].map((name) => services[name]?.image.match(taken)?.[0]);
    expect(ours).toEqual(source.match(taken));
  });
});

describe('the profile observe', () => {
  const { prometheus, grafana } = { prometheus: services['prometheus']!, grafana: services['grafana']! };
  const mountOf = ({ volumes: mounts }: typeof prometheus, source: string) =>
    mounts.find((mount) => mount.startsWith(`${source}:`))?.split(':')[1];
  const watched = z
    .object({
      rule_files: z.array(z.string()),
      scrape_configs: z.tuple([
        z.object({
          dns_sd_configs: z.tuple([z.object({ names: z.array(z.string()), type: z.literal('A'), port: z.number() })]),
        }),
      ]),
    })
    .parse(parse(deployFile('prometheus.yml')));
  const provisioned = (path: string): unknown => parse(deployFile(`grafana/provisioning/${path}`));

  it('is started by its name alone', () => {
    const inProfile = Object.entries(services).filter(([, { profiles }]) => profiles.includes('observe'));
    expect(inProfile.map(([name, { profiles }]) => [name, ...profiles])).toEqual([
      ['prometheus', 'observe'],
      ['grafana', 'observe'],
      ['traces', 'observe'],
    ]);
  });

  it('scrapes each role by its name, at the port of its health check, over a network that both are in', () => {
    const [{ names, port }] = watched.scrape_configs[0].dns_sd_configs;
    expect([...names].sort()).toEqual([...roles].sort());
    expect(deployFile('Dockerfile')).toMatch(new RegExp(`HEALTH_PORT=${port}\\b`));
    for (const role of roles)
      expect(ofRoles[role]?.networks.filter((network) => prometheus.networks.includes(network))).toEqual(['back']);
  });

  it('gives Prometheus its settings and, beside them, the rules', () => {
    const settingsFile = mountOf(prometheus, './prometheus.yml');
    expect(prometheus.command).toContain(`--config.file=${settingsFile ?? ''}`);
    expect(watched.rule_files).toEqual(['alerts/*.yaml']);
    expect(mountOf(prometheus, './alerts')).toBe(join(settingsFile ?? '', '../alerts'));
  });

  it('leads Grafana to that Prometheus and to the dashboards', () => {
    const sources = z.object({ datasources: z.tuple([z.object({ url: z.url() })]) });
    const { hostname, port } = new URL(sources.parse(provisioned('datasources/prometheus.yaml')).datasources[0].url);
    // 9090 is the port of Prometheus where its command names no other.
    expect([hostname, port]).toEqual(['prometheus', '9090']);
    expect(String(prometheus.command)).not.toContain('listen-address');
    expect(grafana.networks).toContain(prometheus.networks[0]);
    expect(mountOf(grafana, './grafana/provisioning')).toBe('/etc/grafana/provisioning');
    const providers = z.object({ providers: z.tuple([z.object({ options: z.object({ path: z.string() }) })]) });
    const [{ options }] = providers.parse(provisioned('dashboards/reeltally.yaml')).providers;
    expect(mountOf(grafana, './dashboards')).toBe(options.path);
  });
});

describe('the profile cluster', () => {
  const lines = deployFile('cluster.env').matchAll(/^([A-Z_]+)=(.*)$/gm);
  const variables = Object.fromEntries([...lines].map(([, name, value]) => [name!, value!]));

  it('has all servers and no other services of its own', () => {
    const others = Object.values(servers).flatMap(([, ...more]) => more);
    const inProfile = Object.entries(services).filter(([, { profiles }]) => profiles.includes('cluster'));
    expect(inProfile.map(([name]) => name).sort()).toEqual(['event-store-volumes', ...others].sort());
    expect(variables['COMPOSE_PROFILES']).toBe('cluster');
    expect(Number(variables['EVENT_STORE_NODES'])).toBe(servers['event-store'].length);
    const seeds = servers['event-store'].map((name) => `${name}:2113`);
    expect(variables['EVENT_STORE_SEEDS']).toBe(seeds.join());
    expect(Number(variables['NATS_REPLICAS'])).toBe(servers.nats.length);
    expect(servers.postgres).toContain(variables['POSTGRES_PRIMARY']);
  });

  it('lets two nodes of the event store start only after a look at the folders of all', () => {
    const { volumes: looked } = services['event-store-volumes']!;
    for (const name of servers['event-store']) expect(looked).toContain(`${name}:/volumes/${name}`);
    const [first, ...others] = servers['event-store'];
    const looks = { condition: 'service_completed_successfully' };
    for (const name of others) expect(services[name]?.depends_on).toEqual({ 'event-store-volumes': looks });
    // Compose goes on without a dependency that is not required, but not before it has ended.
    expect(services[first!]?.depends_on).toEqual({ 'event-store-volumes': { ...looks, required: false } });
  });

  it.each(roles)('starts with a command of the role %s all nodes, of which any may lead', (role) => {
    const started = new Set<string>([role]);
    // The loop also looks at what it adds.
    for (const name of started) for (const other of Object.keys(services[name]?.depends_on ?? {})) started.add(other);
    // After a promotion the first Postgres copies the other one, and is not healthy before.
    expect([...started]).toEqual(expect.arrayContaining(Object.values(servers).flat()));
    const isForNodes = ([name]: [string, unknown]) => /-([23]|standby)$/.test(name);
    const onNodes = Object.values(services).flatMap(({ depends_on: all }) => Object.entries(all).filter(isForNodes));
    for (const [, condition] of onNodes) expect(condition).toEqual({ condition: 'service_started', required: false });
  });

  it.each(Object.values(servers))('has in %s and its like the same but for name and volume', (first, ...others) => {
    const same = ({
      environment,
      volumes: mounted,
      profiles: _,
      depends_on: __,
      ...rest
    }: (typeof services)[string]) => ({
      ...rest,
      mounted: mounted.slice(1),
      names: Object.keys(environment),
    });
    const [one] = [services[first]!];
    for (const name of others) {
      const other = services[name]!;
      expect(same(other)).toEqual(same(one));
      expect(other.volumes[0]?.split(':')).toEqual([name, one.volumes[0]?.split(':')[1]]);
      const differing = Object.entries(other.environment).filter(([key, value]) => value !== one.environment[key]);
      expect(differing.length).toBeGreaterThan(0);
      expect([...new Set(differing.map(([, value]) => value))]).toEqual([name]);
    }
  });

  it('has a standby for which Postgres waits where the service asks it to, and none outside of the profile', () => {
    for (const name of servers.postgres) {
      // An empty POSTGRES_STANDBY stays empty.
      const names = '${POSTGRES_STANDBY-${POSTGRES_PRIMARY:+standby}}';
      expect(services[name]?.command).toContain(`--synchronous_standby_names=${names}`);
      expect(services[name]?.command).toContain('--synchronous_commit=local');
    }
    expect(variables['POSTGRES_PRIMARY']).not.toBe('');
    const named = deployFile('postgres/start.sh')
      .split('\n')
      .filter((line) => line.includes('application_name='));
    expect(named).toEqual([expect.stringMatching(/^exec .*primary_conninfo=.* application_name=standby"/)]);
  });

  it('has two of each role, and the variables that compose.yaml asks for', () => {
    for (const role of roles) {
      const variable = `${role.toUpperCase()}_PROCESSES`;
      expect(ofRoles[role]?.scale).toBe(`\${${variable}:-1}`);
      expect(variables[variable]).toBe('2');
    }
    const asked = deployFile('compose.yaml').matchAll(/\$\{(\w+):-/g);
    const notInExample = Object.keys(variables).filter((name) => !['COMPOSE_PROFILES', ...settings].includes(name));
    const names = [...asked].map(([, name]) => name!);
    expect(notInExample.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('lets users of NATS and Postgres in by TLS alone, and knows each server of NATS by its name', () => {
    const access = deployFile('postgres/pg_hba.conf').matchAll(/^(\w+) +(\w+) +(\w+)/gm);
    expect([...access].map(([, kind, database, user]) => [kind, database, user])).toEqual([
      ['local', 'all', 'all'],
      ['hostssl', 'reeltally', 'reeltally'],
      ['hostssl', 'replication', 'replicator'],
    ]);
    expect(deployFile('nats/nats.conf')).toMatch(/^tls \{$/m);
    const cluster = deployFile('nats/cluster.conf');
    expect(cluster).toContain('include "nats.conf"');
    expect(cluster).toMatch(/verify: true/);
    for (const name of servers.nats) expect(services[name]?.environment['SERVER_NAME']).toBe(name);
  });
});

describe('the settings of the services', () => {
  const lines = deployFile('env.example').split('\n');
  const example = lines.flatMap((line) => {
    const [, name, value] = /^#?([A-Z]\w*)=(.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });

  /** What compose.yaml itself asks for, with its default; cluster.env has the rest. */
  const ofCompose = Object.fromEntries(
    [...deployFile('compose.yaml').matchAll(/\$\{(\w+(?:_IMAGE|_PORT)):-([^}]*)\}/g)].map(([, name, value]) => [
      name!,
      value!,
    ]),
  );

  it('stand in env.example, all of them, those of compose.yaml, and no others', () => {
    expect(example.map(({ name }) => name).sort()).toEqual([...settings, ...Object.keys(ofCompose)].sort());
  });

  it('of compose.yaml have in env.example their defaults', () => {
    expect(Object.keys(ofCompose)).toContain('HTTPS_PORT');
    const shown = Object.fromEntries(example.map(({ name, value }) => [name, value]));
    expect(shown).toMatchObject(ofCompose);
  });

  it('have in env.example a default or an example that the service takes', () => {
    const set = Object.fromEntries(example.map(({ name, value }) => [name, value]));
    // The plan file of the image is not here, and files have one place.
    const config = readConfig({ ...set, PLANS_FILE: '', S3_BUCKET: '' });
    expect(config).toMatchObject({ OIDC_SCOPE: set['OIDC_SCOPE'], similarNames: [] });
  });

  it.each(roles)('come to the role %s from files where they are secret', (role) => {
    const { environment: variables, env_file: file, secrets: mounted } = ofRoles[role]!;
    expect(file).toBe('.env');
    const fromFiles = secretSettings.filter((name) => fileVariable(name) in variables);
    const servers = ['DATABASE_URL', 'EVENTSTORE_URL', 'NATS_URL'];
    const signing = role === 'dispatcher' ? ['PROOF_SIGNING_KEY'] : [];
    expect(fromFiles.sort()).toEqual([...servers, ...signing, 'REELTALLY_SECRET']);
    expect(Object.keys(variables).filter((name) => secretSettings.includes(name))).toEqual([]);
    for (const name of fromFiles) expect(mounted).toContain(String(variables[fileVariable(name)]).split('/').at(-1));
  });
});

describe('the proxy', () => {
  const caddyfile = deployFile('caddy/Caddyfile');

  it('passes what is public, and neither health checks nor metrics nor the staff console', () => {
    const [, paths = ''] = /@public path (.*)/.exec(caddyfile) ?? [];
    expect(paths.split(' ')).toEqual([
      '/',
      '/api/v1/*',
      '/files/*',
      '/console',
      '/console/*',
      '/docs',
      '/docs/*',
      '/openapi.json',
      '/tlog/*',
    ]);
    expect(caddyfile.match(/respond 404/g)).toHaveLength(1);
  });

  it('logs neither the query of a signed link nor headers with keys', () => {
    const filtered = ['request>uri regexp \\?.* ?…', 'request>headers delete'];
    expect(caddyfile.match(/request>.*/g)).toEqual(filtered);
    // A log of its own would have a format of its own.
    expect(caddyfile.match(/^\s*log\b/gm)).toHaveLength(1);
  });
});
