import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { basename, join } from 'node:path';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { CronJob } from 'kubernetes-models/batch/v1/CronJob';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isPublicAddress } from '../../src/downloader/egress/public-address.ts';
import { roles } from '../../src/main/roles/role.ts';
import { environment, readConfig, secretSettings } from '../../src/main/settings/config.ts';
import { openPlatformRules } from '../../src/main/settings/platform-rules.ts';
import { fileVariable } from '../../src/main/settings/secret-files.ts';
import { readPrivateText } from '../../src/system/private-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';
import { deployFile } from './compose-file.ts';
import { kustomizations, readKustomization, readManifests, readSettings, withComponent } from './kubernetes-files.ts';
import { faultsOf } from './kubernetes-schemas.ts';

const production = 'kubernetes/overlays/production';
const settingsFolders = ['kubernetes/common', `${production}/shared`];

/** All objects that `kubectl apply -k` of a folder makes, once for each namespace: its own, and those that it takes from others. */
function objectsOf(folder: string): unknown[] {
  const { resources, components } = readKustomization(folder);
  const taken = [...resources.filter((path) => !path.endsWith('.yaml')), ...components];
  return [
    ...taken.flatMap((path) => objectsOf(join(folder, path))),
    ...readManifests(folder).map(({ value }) => value),
  ];
}

const inBase = [...readManifests('kubernetes/base'), ...readManifests('kubernetes/workers')].map(({ value }) => value);
const [ofService, ofWorkers] = ['service', 'workers'].map((part) => objectsOf(`${production}/${part}`));
const all = [...ofService!, ...ofWorkers!];
const doc = (name: string) => readFileSync(join(root, 'docs', name), 'utf8');

const deployments = inBase.filter(Deployment.is);
const deploymentOf = (role: string) => deployments.find(({ metadata }) => metadata?.name === role)!;
const podOf = (role: string) => deploymentOf(role).spec!.template.spec!;
const containerOf = (role: string) => podOf(role).containers[0]!;
const jobs = inBase.filter(CronJob.is);
const pods: [string, IPodSpec][] = [...deployments, ...jobs].map((object) => [
  object.metadata?.name ?? '',
  Deployment.is(object) ? object.spec!.template.spec! : object.spec.jobTemplate.spec!.template.spec!,
]);
const labelsOf = (component: string) => ({
  'app.kubernetes.io/name': 'reeltally',
  'app.kubernetes.io/component': component,
});

describe('the manifests', () => {
  it('are what the API of Kubernetes takes', () => {
    expect(faultsOf(kustomizations.flatMap(readManifests))).toEqual([]);
  });

  it('would not pass with a misspelt field or a malformed quantity', () => {
    const file = 'kubernetes/workers/worker.yaml';
    const misspelt = deployFile(file).replace('hostUsers:', 'hostUser:').replace('memory: 8Gi', 'memory: 8 Gib');
    const faults = faultsOf([{ file, value: parse(misspelt.split('\n---\n')[0]!) }]);
    expect(faults).toEqual([
      expect.stringContaining(`'"hostUser"' does not exist`),
      expect.stringContaining('quantity'),
    ]);
  });

  it.each(kustomizations)('of %s are all listed', (folder) => {
    const { resources, configMapGenerator } = readKustomization(folder);
    const files = resources.filter((path) => path.endsWith('.yaml'));
    expect(files.sort()).toEqual([...new Set(readManifests(folder).map(({ file }) => basename(file)))].sort());
    const settings = settingsFolders.includes(folder) ? [['settings', 'settings.env']] : [];
    const rules = folder.endsWith('platform-rules') ? [['platform-rules', 'rules.json']] : [];
    const given = configMapGenerator.map(({ name, envs, files: named }) => [name, ...envs, ...named]);
    expect(given).toEqual([...settings, ...rules]);
  });

  it('change in an overlay what the base has', () => {
    const { images } = readKustomization(`${production}/shared`);
    const { replicas } = readKustomization(`${production}/service`);
    const named = pods.flatMap(([, { containers }]) => containers.map(({ image }) => image));
    expect(images.map(({ name }) => name).sort()).toEqual([...new Set(named)].sort());
    // An autoscaler sets the number of the others.
    const scaled = inBase.filter(HorizontalPodAutoscaler.is).map(({ spec }) => spec.scaleTargetRef.name);
    expect(replicas.map(({ name }) => name)).toEqual(roles.filter((role) => !scaled.includes(role)));
    for (const role of roles) expect(deploymentOf(role).spec?.replicas).toBe(scaled.includes(role) ? undefined : 1);
  });
});

describe('the namespaces', () => {
  const levelOf = (objects: readonly unknown[]) =>
    objects
      .filter(Namespace.is)
      .map(({ metadata }) => [...[metadata?.name, metadata?.labels?.['pod-security.kubernetes.io/enforce']]]);

  it('are two: only that of the workers allows what the sandbox of downloads needs', () => {
    expect(levelOf(ofService!)).toEqual([['reeltally', 'restricted']]);
    expect(levelOf(ofWorkers!)).toEqual([['reeltally-workers', 'privileged']]);
    const named = (objects: readonly unknown[]) => objects.filter(Deployment.is).map(({ metadata }) => metadata?.name);
    expect(named(ofWorkers!)).toEqual(['worker']);
    expect(named(ofService!).sort()).toEqual(['api', 'dispatcher', 'projector']);
  });

  it.each(pods.filter(([name]) => name !== 'worker'))('restrict the pods of %s', (_name, pod) => {
    // The levels of Pod Security Standards that a field can break, besides those that the next tests look at.
    for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'initContainers', 'ephemeralContainers'])
      expect(pod).not.toHaveProperty(field);
    for (const volume of pod.volumes ?? [])
      expect(['emptyDir', 'secret', 'configMap', 'projected']).toContain(
        Object.keys(volume).find((key) => key !== 'name'),
      );
    for (const { ports = [] } of pod.containers) expect(ports.filter(({ hostPort }) => hostPort)).toEqual([]);
  });
});

describe.each(roles)('the role %s', (role) => {
  const isWorker = role === 'worker';

  it('has its own Deployment', () => {
    const { image, args, command, ports } = containerOf(role);
    expect({ image, args, command }).toEqual({
      image: isWorker ? 'reeltally-worker' : 'reeltally-slim',
      args: ['serve', '--role', role],
      command: undefined,
    });
    expect(ports).toEqual([{ name: 'http', containerPort: 8080 }]);
    expect(deployFile('Dockerfile')).toContain('PORT=8080');
    expect(deploymentOf(role).spec?.template.metadata?.labels).toEqual(labelsOf(role));
  });

  it('is watched, spread, and not disrupted as a whole', () => {
    const { startupProbe, livenessProbe, readinessProbe } = containerOf(role);
    const paths = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet?.path);
    expect(paths).toEqual(['/healthz', '/healthz', '/readyz']);
    const spread = podOf(role).topologySpreadConstraints?.map(({ topologyKey }) => topologyKey);
    expect(spread).toEqual(['topology.kubernetes.io/zone', 'kubernetes.io/hostname']);
    const budget = inBase.filter(PodDisruptionBudget.is).find(({ metadata }) => metadata?.name === role);
    expect(budget?.spec).toEqual({ maxUnavailable: 1, selector: { matchLabels: labelsOf(role) } });
    // Longer than a stop takes.
    expect(podOf(role).terminationGracePeriodSeconds).toBeGreaterThan(15);
  });

  it('has a name in DNS for all of its processes, as deploy/prometheus.yml asks for', () => {
    const service = inBase.filter(Service.is).find(({ metadata }) => metadata?.name === role);
    expect(service?.spec).toMatchObject({
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: labelsOf(role),
    });
    expect(deployFile('prometheus.yml')).toMatch(new RegExp(`names: \\[.*\\b${role}\\b.*\\]`));
  });

  it('has the secrets that it needs, and no others', () => {
    const servers = ['DATABASE_URL', 'EVENTSTORE_URL', 'NATS_URL', 'REELTALLY_SECRET'];
    const bucket = role === 'projector' ? [] : ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'];
    const mail = role === 'api' || role === 'dispatcher' ? ['SMTP_URL'] : [];
    const signing = role === 'dispatcher' ? ['PROOF_SIGNING_KEY'] : [];
    const given = containerOf(role).env?.map(({ name }) => name) ?? [];
    expect(given.sort()).toEqual([...servers, ...bucket, ...mail, ...signing].map(fileVariable).sort());
  });
});

describe.each(pods)('the pods of %s', (name, pod) => {
  const [container] = pod.containers;
  const isWorker = name === 'worker';

  it('have no more rights than they need', () => {
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    const own = { runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001 };
    const localhost = { type: 'Localhost', localhostProfile: 'reeltally-worker.json' };
    expect(pod.securityContext).toEqual({
      ...own,
      seccompProfile: isWorker ? localhost : { type: 'RuntimeDefault' },
    });
    expect(deployFile('Dockerfile')).toContain('USER 10001:10001');
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      // Kubernetes takes the first only of pods in a user namespace of their own.
      ...(isWorker && { procMount: 'Unmasked', appArmorProfile: { type: 'Unconfined' } }),
    });
    expect(pod.hostUsers).toBe(isWorker ? false : undefined);
  });

  it('have requests and limits', () => {
    expect(Object.keys(container?.resources?.requests ?? {})).toEqual(['cpu', 'memory', 'ephemeral-storage']);
    expect(Object.keys(container?.resources?.limits ?? {})).toEqual(['memory', 'ephemeral-storage']);
  });

  it('get settings from the ConfigMap, and secrets from files alone', () => {
    expect(container?.envFrom).toEqual([{ configMapRef: { name: 'settings' } }]);
    const mounts = new Map(container?.volumeMounts?.map((mount) => [mount.mountPath, mount]));
    const secrets = new Map(pod.volumes?.map(({ name: volume, secret }) => [volume, secret?.secretName]));
    for (const { name: variable, value = '' } of container?.env ?? []) {
      const setting = secretSettings.find((each) => fileVariable(each) === variable);
      const folder = value.slice(0, value.lastIndexOf('/'));
      const mount = mounts.get(folder);
      expect([variable, value]).toEqual([variable, `${folder}/${setting?.toLowerCase() ?? ''}`]);
      expect(mount).toMatchObject({ readOnly: true });
      expect(secrets.get(mount?.name ?? '')).toBe(basename(folder));
      // docs/deployment.md says how to make the secret.
      expect(doc('deployment.md')).toMatch(new RegExp(`secret generic ${basename(folder)} .*${basename(value)}\\b`));
    }
  });
});

describe('the components for rules about platforms', () => {
  const [rules, secrets, proxy] = ['platform-rules', 'platform-secrets', 'outgoing-proxy'].map(
    (name) => `kubernetes/components/${name}`,
  ) as [string, string, string];
  const changed = (role: string, folders: readonly string[]) => {
    const { value } = readManifests(role === 'worker' ? 'kubernetes/workers' : 'kubernetes/base').find(
      ({ value: object }) => Deployment.is(object) && object.metadata?.name === role,
    )!;
    const made = folders.reduce((object, folder) => withComponent(folder, object), value as IDeployment);
    expect(faultsOf([{ file: folders.join(), value: made }])).toEqual([]);
    return made.spec!.template.spec!;
  };
  const mountOf = ({ containers, initContainers = [], volumes = [] }: IPodSpec, path: string) =>
    [...containers, ...initContainers].map(({ volumeMounts = [] }) => {
      const mount = volumeMounts.find(({ mountPath }) => mountPath === path);
      return mount && { isReadOnly: mount.readOnly === true, volume: volumes.find(({ name }) => name === mount.name) };
    });

  it('are named in the overlay, for those who need them', () => {
    const named = (part: string) =>
      [
        ...deployFile(`${production}/${part}/kustomization.yaml`).matchAll(/# - \.\.\/\.\.\/\.\.\/(components\/\S+)/g),
      ].map(([, path]) => `kubernetes/${path!}`);
    expect(named('service')).toEqual([rules]);
    expect(named('workers')).toEqual([rules, secrets, proxy]);
    expect(kustomizations.filter((folder) => folder.includes('components/')).sort()).toEqual(
      [rules, secrets, proxy].sort(),
    );
  });

  it.each(['api', 'worker'])('give %s the rules, which the service takes', (role) => {
    const pod = changed(role, [rules]);
    const { value: file = '' } = pod.containers[0]!.env!.find(({ name }) => name === 'PLATFORM_RULES_FILE')!;
    const [mounted] = mountOf(pod, file.slice(0, file.lastIndexOf('/')));
    expect(mounted).toMatchObject({ isReadOnly: true, volume: { configMap: { name: 'platform-rules' } } });
    const [{ files, options } = { files: [] }] = readKustomization(rules).configMapGenerator;
    // Else a changed file would have another name, and pods would be replaced.
    expect([files, options]).toEqual([[basename(file)], { disableNameSuffixHash: true }]);
    const path = join(root, 'deploy', rules, basename(file));
    const logger = { error: () => undefined, warn: () => undefined };
    const loaded = openPlatformRules({ PLATFORM_RULES_FILE: path }, { samplePlatformOrigin: undefined, logger });
    expect(loaded.cookiesFileOf('youtube')).toBe('/run/platforms/youtube-cookies.txt');
  });

  it('leave other roles alone', () => {
    for (const role of ['projector', 'dispatcher']) expect(changed(role, [rules, secrets, proxy])).toEqual(podOf(role));
    expect(changed('api', [secrets, proxy])).toEqual(podOf('api'));
  });

  it('copy cookies to where they are those of the worker alone', () => {
    const pod = changed('worker', [rules, secrets, proxy]);
    const [ofWorker, ofCopy] = mountOf(pod, '/run/platforms');
    expect(ofWorker).toMatchObject({ isReadOnly: true, volume: { emptyDir: { medium: 'Memory' } } });
    expect(ofCopy).toMatchObject({ isReadOnly: false, volume: ofWorker?.volume as object });
    const [, mounted] = mountOf(pod, '/run/secrets/platforms');
    expect(mounted).toMatchObject({ isReadOnly: true, volume: { secret: { secretName: 'platforms' } } });
    const [{ command = [], securityContext } = {}] = pod.initContainers ?? [];
    expect(securityContext).toMatchObject({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } });
    const [from, to] = [temporaryDirectory(), temporaryDirectory()];
    const [shell = '', ...words] = command.map((word) =>
      word.replace('/run/secrets/platforms/', `${from}/`).replace(' /run/platforms/', ` ${to}/`),
    );
    // As the kubelet lays them out.
    mkdirSync(join(from, '..data'));
    writeFileSync(join(from, '..data', 'cookies.txt'), 'a cookie', { mode: 0o440 });
    symlinkSync('..data/cookies.txt', join(from, 'cookies.txt'));
    execFileSync(shell, words);
    expect(readdirSync(to)).toEqual(['cookies.txt']);
    expect(readPrivateText(join(to, 'cookies.txt'))).toBe('a cookie');
    expect(statSync(join(to, 'cookies.txt')).mode & 0o777).toBe(0o600);
  });

  it('give workers one proxy, by a secret and a policy', () => {
    const pod = changed('worker', [proxy]);
    const file = pod.containers[0]!.env!.find(({ name }) => name === fileVariable('EGRESS_PROXY'))?.value ?? '';
    const folder = file.slice(0, file.lastIndexOf('/'));
    expect(mountOf(pod, folder)).toMatchObject([
      { isReadOnly: true, volume: { secret: { secretName: basename(folder) } } },
    ]);
    const [policy] = readManifests(proxy)
      .map(({ value }) => value)
      .filter(NetworkPolicy.is);
    expect(policy?.spec?.podSelector).toEqual({ matchLabels: labelsOf('worker') });
    expect(policy?.spec?.egress).toHaveLength(1);
    for (const [secret, path] of [
      [basename(folder), basename(file)],
      ['platforms', 'youtube-cookies.txt'],
    ])
      expect(doc('deployment.md')).toMatch(new RegExp(`secret generic ${secret!} .*${path!}\\b`));
  });
});

describe('the settings', () => {
  const settings = Object.assign({}, ...settingsFolders.map(readSettings)) as Record<string, string>;

  it('exist, and hold no secret', () => {
    expect(Object.keys(settings).filter((name) => !(name in environment.shape))).toEqual([]);
    expect(Object.keys(settings).filter((name) => secretSettings.includes(name))).toEqual([]);
  });

  it('are taken by the service', () => {
    expect(() => readConfig(settings)).not.toThrow();
  });

  it('name a work folder that is a volume of the worker', () => {
    const paths = containerOf('worker').volumeMounts?.map(({ mountPath }) => mountPath);
    expect(paths).toContain(/WORK_DIRECTORY=(\S+)/.exec(deployFile('Dockerfile'))?.[1]);
  });
});

describe('the jobs for the books', () => {
  it('run commands that the docs run, one at a time', () => {
    const commands = jobs.map(({ spec }) => {
      const { args = [] } = spec.jobTemplate.spec!.template.spec!.containers[0]!;
      expect(spec).toMatchObject({ concurrencyPolicy: 'Forbid', timeZone: 'Etc/UTC' });
      return args.join(' ');
    });
    expect(commands).toEqual([
      expect.stringMatching(/^invoices issue-due /),
      expect.stringMatching(/ ledger verify --json \|\| \[ \$\? -eq 3 \]$/),
    ]);
    for (const command of ['invoices issue-due', 'ledger verify --json'])
      expect(doc('command-line.md') + doc('operations.md')).toContain(`npm run -s reeltally -- ${command}\n`);
    expect(deployFile('Dockerfile')).toContain(
      '["tini", "--", "node", "--disable-warning=ExperimentalWarning", "--max-semi-space-size=16", "src/main/reeltally.js"]',
    );
  });
});

describe('the autoscalers', () => {
  const scalers = inBase.filter(HorizontalPodAutoscaler.is);

  it('scale the API by load, and workers by the age of the queue and the downloads that run', () => {
    const metrics = Object.fromEntries(
      scalers.map(({ spec }) => [
        spec.scaleTargetRef.name,
        spec.metrics?.map(
          ({ resource, external, pods: ofPods }) => resource?.name ?? (external ?? ofPods)?.metric.name,
        ),
      ]),
    );
    expect(metrics).toEqual({
      api: ['cpu'],
      worker: ['reeltally_oldest_unclaimed_job_seconds', 'reeltally_downloads_running'],
    });
    for (const name of metrics['worker'] ?? []) expect(doc('metrics.md')).toContain(`| \`${name ?? ''}\` | gauge |`);
  });

  it('keep workers below the slots that they have', () => {
    const target = scalers.flatMap(({ spec }) => spec.metrics ?? []).find(({ type }) => type === 'Pods')?.pods?.target;
    const slots = Number(readSettings('kubernetes/common')['WORKER_SLOTS']);
    expect(parseInt(String(target?.averageValue)) / 1_000).toBe(slots * 0.75);
  });
});

describe('the network policies', () => {
  const policiesOf = (component: string) => (component === 'worker' ? ofWorkers! : ofService!).filter(NetworkPolicy.is);
  const policies = all.filter(NetworkPolicy.is);
  const policyOf = (name: string) => policies.find(({ metadata }) => metadata?.name === name)!.spec!;
  /** Names of the policies that select the pods of a component and say something about a direction. */
  const selecting = (component: string, direction: 'Ingress' | 'Egress') =>
    policiesOf(component)
      .filter(({ spec }) => spec?.policyTypes?.includes(direction))
      .filter(({ spec }) => {
        const { matchLabels = {}, matchExpressions = [] } = spec?.podSelector ?? {};
        const labels: Record<string, string> = labelsOf(component);
        const isOne = matchExpressions.every(({ key, values }) => values?.includes(labels[key] ?? ''));
        return isOne && Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
      })
      .map(({ metadata }) => metadata?.name);

  it('deny what they do not allow', () => {
    expect(policyOf('deny-all')).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  });

  it('let only workers reach the web, and everybody what their role needs', () => {
    const egress = Object.fromEntries([...roles, 'books'].map((role) => [role, selecting(role, 'Egress')]));
    const everybody = ['deny-all', 'dns', 'servers'];
    expect(egress).toEqual({
      api: [...everybody, 'bucket', 'mail'],
      projector: everybody,
      dispatcher: [...everybody, 'bucket', 'mail'],
      worker: [...everybody, 'web', 'bucket'],
      books: everybody,
    });
    const wide = policies.filter(({ spec }) => JSON.stringify(spec?.egress ?? []).includes('/0'));
    expect(wide.map(({ metadata }) => metadata?.name)).toEqual(['web']);
    // A rule without `to` allows everything.
    for (const { spec } of policies) expect((spec?.egress ?? []).filter(({ to }) => !to?.length)).toEqual([]);
  });

  it('let nobody but Prometheus reach a worker, and only the ingress another process', () => {
    for (const role of roles)
      expect(selecting(role, 'Ingress')).toEqual(['deny-all', 'metrics', ...(role === 'api' ? ['public'] : [])]);
    expect(policyOf('metrics').ingress).toEqual([
      {
        from: [
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
            podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } },
          },
        ],
        ports: [{ protocol: 'TCP', port: 8080 }],
      },
    ]);
  });

  it('take the addresses for the web that the egress proxy takes for public', () => {
    const [{ to = [], ports } = {}] = policyOf('web').egress ?? [];
    expect(ports?.map(({ port }) => port)).toEqual([80, 443]);
    const [v4, v6] = to.map(({ ipBlock }) => ipBlock!);
    const [allowed, denied] = [new BlockList(), new BlockList()];
    const add = (list: BlockList, network: string) => {
      const [address = '', prefix] = network.split('/');
      list.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4');
    };
    for (const block of [v4!, v6!]) {
      add(allowed, block.cidr);
      for (const network of block.except ?? []) add(denied, network);
    }
    const passes = (address: string) => {
      const family = address.includes(':') ? 'ipv6' : 'ipv4';
      return allowed.check(address, family) && !denied.check(address, family);
    };
    const bytes = Array.from({ length: 256 }, (_, byte) => byte);
    const v4Addresses = bytes.flatMap((a) => bytes.map((b) => `${String(a)}.${String(b)}.1.1`));
    // Most of the small networks begin with these.
    const small = [192, 198, 203].flatMap((a) =>
      bytes.flatMap((b) =>
        [0, 2, 88, 99, 100, 113, 196, 193, 48].map((c) => `${String(a)}.${String(b)}.${String(c)}.9`),
      ),
    );
    const v6Addresses = ['::1', '64:ff9b::808:808', 'fc00::1', 'fe80::1', 'ff02::1', '4000::1', '2000::1'];
    const special = [
      '2001::1',
      '2001:1ff::1',
      '2001:200::1',
      '2001:db8::1',
      '2002::1',
      '2620:4f:8000::1',
      '3fff::1',
      '3fff:1000::1',
    ];
    const edges = ['168.63.129.16', '168.63.129.15', '168.63.129.17', '8.8.8.8'];
    const differ = [...v4Addresses, ...small, ...v6Addresses, ...special, ...edges].filter(
      (address) => passes(address) !== isPublicAddress(address),
    );
    expect(differ).toEqual([]);
  });
});

describe('the ingress', () => {
  const [ingress] = all.filter(Ingress.is);
  const [rule] = ingress?.spec?.rules ?? [];

  it('passes the paths that the proxy of Compose passes, and no others', () => {
    const [, listed = ''] = /@public path (.*)/.exec(deployFile('caddy/Caddyfile')) ?? [];
    // A prefix of an ingress includes the path itself.
    const prefixes = listed.split(' ').filter((path) => path.endsWith('/*'));
    const below = prefixes.map((path) => path.slice(0, -2));
    const exact = listed.split(' ').filter((path) => !path.endsWith('/*') && !below.includes(path));
    const paths = rule?.http?.paths.map(({ path, pathType }) => `${pathType} ${path ?? ''}`) ?? [];
    expect(paths.sort()).toEqual(
      [...below.map((path) => `Prefix ${path}`), ...exact.map((path) => `Exact ${path}`)].sort(),
    );
    expect(ingress?.spec).not.toHaveProperty('defaultBackend');
  });

  it('leads to those API processes that are ready, under the public name', () => {
    for (const { backend } of rule?.http?.paths ?? [])
      expect(backend).toEqual({ service: { name: 'public', port: { name: 'http' } } });
    const service = inBase.filter(Service.is).find(({ metadata }) => metadata?.name === 'public');
    expect(service?.spec).toEqual({
      selector: labelsOf('api'),
      ports: [{ name: 'http', port: 80, targetPort: 'http' }],
    });
    expect(readSettings(`${production}/shared`)['PUBLIC_URL']).toBe(`https://${rule?.host ?? ''}`);
    expect(ingress?.spec?.tls?.flatMap(({ hosts }) => hosts)).toEqual([rule?.host]);
  });
});
