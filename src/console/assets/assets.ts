import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { Html } from '../../documents/html.ts';

/** The style of the console's pages, their scripts and the libraries of these, all under our own origin. */
export type Assets = ReturnType<typeof registerAssets>;

const here = fileURLToPath(new URL('.', import.meta.url));
const moduleFile = (name: string) => fileURLToPath(import.meta.resolve(name));

/** The libraries that scripts import, by the names that they are imported by. */
const libraries = ['preact', 'preact/hooks', '@preact/signals-core', '@preact/signals', 'htm'];
const plotFolder = dirname(moduleFile('uplot'));

interface Asset {
  mediaType: string;
  source: string;
  /** From the source to what browsers get, where they differ. */
  convert?: (source: string) => string;
}

const script = (source: string): Asset => ({ mediaType: 'text/javascript; charset=utf-8', source });
const style = (source: string): Asset => ({ mediaType: 'text/css; charset=utf-8', source });
const read = (path: string) => readFileSync(path, 'utf8');
const asItIs = (source: string) => source;
const vendorName = (name: string) => `vendor/${name.replaceAll('/', '-').replace('@', '')}.js`;

function readAssets(): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of libraries) assets.set(vendorName(name), script(withoutSourceMap(read(moduleFile(name)))));
  // Only its build for script elements is minified: it declares one name, which becomes the module's export.
  const plot = read(join(plotFolder, 'uPlot.iife.min.js'));
  assets.set(vendorName('uplot'), script(`${withoutSourceMap(plot)}\nexport default uPlot;\n`));
  assets.set('vendor/uplot.css', style(read(join(plotFolder, 'uPlot.min.css'))));
  const folder = join(here, '../browser');
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.ts')))
    assets.set(`browser/${name}`, { ...script(read(join(folder, name))), convert: stripTypeScriptTypes });
  assets.set('console.css', style(read(join(here, 'console.css'))));
  assets.set('icon.svg', { mediaType: 'image/svg+xml', source: read(join(here, 'icon.svg')) });
  return assets;
}

const withoutSourceMap = (text: string) => text.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n');

/**
 * Read once, at the start, and converted and compressed for the first browser that asks. Their addresses name their content, so that browsers keep them.
 *
 * @param base path of the first page of their console
 */
export function registerAssets(server: FastifyInstance, base: string) {
  const assets = readAssets();
  const version = hash('sha256', JSON.stringify([...assets]), 'hex').slice(0, 12);
  const addressOf = (name: string) => `${base}/assets/${version}/${name}`;
  for (const [name, { mediaType, source, convert = asItIs }] of assets) {
    let text: string | undefined;
    let compressed: Buffer | undefined;
    server.get(addressOf(name), (request, reply) => {
      const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
      reply.headers({
        'Content-Type': mediaType,
        'Cache-Control': 'public, max-age=31536000, immutable',
        'X-Content-Type-Options': 'nosniff',
        'Cross-Origin-Resource-Policy': 'same-origin',
        Vary: 'Accept-Encoding',
        ...(takesGzip && { 'Content-Encoding': 'gzip' }),
      });
      text ??= convert(source);
      if (takesGzip) compressed ??= gzipSync(text);
      return reply.send(takesGzip ? compressed : text);
    });
  }
  const imports = Object.fromEntries([...libraries, 'uplot'].map((name) => [name, addressOf(vendorName(name))]));
  const importMap = JSON.stringify({ imports });
  return {
    stylesheets: [addressOf('vendor/uplot.css'), addressOf('console.css')],
    // Not by a template, whose layout may change: the hash covers every space between the tags.
    /** By it scripts find the libraries; its hash is for the security policy. */
    importMap: new Html(`<script type="importmap">${importMap}</script>`),
    importMapHash: `sha256-${hash('sha256', importMap, 'base64')}`,
    /** @returns the address of a script of `browser/` */
    script: (name: string) => addressOf(name === 'icon.svg' ? name : `browser/${name}.ts`),
  };
}
