import { type CompiledShape, compileShape, compileTemplate, type Template } from './address-pattern.ts';
import type { Address, Platform } from './platform-row.ts';
import { configuredPlatforms, type PlatformConfiguration, platforms } from './platforms.ts';

/** One form of a host's addresses. */
export interface Rule {
  address: Address;
  shape: CompiledShape;
  /** The address of the item or the short link. */
  url: Template;
  videoId: Template;
}

/** A host of a platform, with the forms of its addresses. */
export interface Site {
  platform: Platform;
  rules: readonly Rule[];
  /** Pieces in the host's name, such as a blog. */
  pieces: Readonly<Record<string, string>>;
}

type SiteEntry = Omit<Site, 'pieces'> & { rules: Rule[]; label: { name: string; pattern: RegExp } | undefined };

/**
 * Finds the platform that a host belongs to.
 *
 * @param host in lower case, from the URL parser
 */
export function siteOf(host: string): Site | undefined {
  const exact = sites.get(host);
  if (exact !== undefined) return { platform: exact.platform, rules: exact.rules, pieces: {} };
  const dot = host.indexOf('.');
  const parent = dot < 1 ? undefined : sites.get(`*${host.slice(dot)}`);
  if (parent === undefined) return undefined;
  const label = host.slice(0, dot);
  if (!(parent.label?.pattern ?? anyLabel).test(label)) return undefined;
  const pieces = parent.label === undefined ? {} : { [parent.label.name]: label };
  return { platform: parent.platform, rules: parent.rules, pieces };
}

/** Finds the configured platform that has exactly this origin. Its few rules are compiled at each call. */
export function siteOfOrigin(origin: string, configuration: PlatformConfiguration): Site | undefined {
  const platform = configuredPlatforms(configuration).find((each) => each.origin === origin);
  return (
    platform && { platform, rules: platform.addresses.flatMap((address) => rulesOf(platform, address)), pieces: {} }
  );
}

const anyLabel = /^[a-z\d-]{1,63}$/;

/** The sites by host, or by `*.` and the parent of the host; the rules are in the order of the row. */
const sites = indexSites();

function indexSites(): ReadonlyMap<string, SiteEntry> {
  const index = new Map<string, SiteEntry>();
  for (const platform of platforms) {
    for (const address of platform.addresses) {
      const rules = rulesOf(platform, address);
      for (const host of address.hosts ?? platform.hosts) {
        const { key, label } = hostKey(host, platform);
        const entry = index.get(key) ?? { platform, rules: [], label };
        if (entry.platform !== platform) throw new Error(`${host} is a host of two platforms.`);
        entry.rules.push(...rules);
        index.set(key, entry);
      }
    }
  }
  return index;
}

function rulesOf(platform: Platform, address: Address): Rule[] {
  const { origin = '' } = platform;
  const { template, id } = templatesOf(address);
  const fill = compileTemplate(template);
  const url: Template = (pieces) => origin + fill(pieces);
  const videoId = compileTemplate(id);
  return address.at.map((shape) => ({ address, shape: compileShape(shape, platform), url, videoId }));
}

function templatesOf(address: Address): { template: string; id: string } {
  if ('item' in address) return { template: address.item, id: address.id ?? '{id}' };
  return { template: 'lookUp' in address ? address.lookUp : '', id: '{short}' };
}

function hostKey(host: string, { pieces }: Platform): { key: string; label: SiteEntry['label'] } {
  const name = /^\{(?<name>\w+)\}\./.exec(host)?.groups?.['name'];
  if (name === undefined) return { key: host, label: undefined };
  const piece = pieces[name];
  if (piece === undefined) throw new Error(`A host names {${name}}, which the row does not describe: ${host}`);
  return { key: `*${host.slice(host.indexOf('.'))}`, label: { name, pattern: new RegExp(`^(?:${piece.source})$`) } };
}
