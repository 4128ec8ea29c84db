import { join } from 'node:path';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { CronJob } from 'kubernetes-models/batch/v1/CronJob';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { Service } from 'kubernetes-models/v1/Service';
import ts from 'typescript';
import { root } from '../tidy/source-files.ts';
import type { Manifest } from './kubernetes-files.ts';

/** The kinds that the manifests may have, each in the one version that they name. */
const kinds = [
  ...[Namespace, Service, PodDisruptionBudget, NetworkPolicy, Ingress],
  ...[Deployment, CronJob, HorizontalPodAutoscaler],
];

/**
 * Checks manifests against the API of Kubernetes: by the compiler, which finds fields that do not exist, and by the schemas, which
 * know the forms of texts and numbers.
 *
 * @returns a sentence for each fault
 */
export function faultsOf(manifests: readonly Manifest[]): string[] {
  const known = manifests.filter(({ value }) => kinds.some((kind) => kind.is(value)));
  const unknown = manifests.filter((manifest) => !known.includes(manifest));
  return [
    ...unknown.map(({ file }) => `${file}: an object of a kind that this test does not know`),
    ...compile(known),
    ...known.flatMap(bySchema),
  ];
}

function bySchema({ file, value }: Manifest): string[] {
  const Kind = kinds.find((kind) => kind.is(value))!;
  try {
    new Kind(value as never).validate();
    return [];
  } catch (error) {
    return [`${file}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Each manifest becomes a constant of its type in a file that exists only here. */
function compile(manifests: readonly Manifest[]): string[] {
  const sources = new Map(
    manifests.map(({ value }, index) => {
      const { apiVersion, kind } = kinds.find((each) => each.is(value))!;
      const type = `I${kind}`;
      const text = `import type { ${type} } from 'kubernetes-models/${apiVersion}/${kind}';\nexport const manifest: ${type} = ${JSON.stringify(value)};\n`;
      return [join(root, `test/deploy/manifest-${String(index)}.ts`), text];
    }),
  );
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const disk = ts.createCompilerHost(options);
  host.fileExists = (name) => sources.has(name) || disk.fileExists(name);
  host.readFile = (name) => sources.get(name) ?? disk.readFile(name);
  host.getSourceFile = (name, version, ...others) => {
    const text = sources.get(name);
    return text === undefined ? disk.getSourceFile(name, version, ...others) : ts.createSourceFile(name, text, version);
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  const files = new Map([...sources.keys()].map((name, index) => [name, manifests[index]!.file]));
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const message = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${files.get(file?.fileName ?? '') ?? ''}: ${message}`;
  });
}
