import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failureReasonNames } from '../../../src/domain/failure-reasons.ts';
import { endpoints } from '../../../src/http/endpoints.ts';
import { apiErrors } from '../../../src/http/errors.ts';
import { readExamples } from '../../../src/http/reference/examples.ts';
import { createOpenApi } from '../../../src/http/reference/openapi.ts';
import { root } from '../../tidy/source-files.ts';
import { shareService } from '../shared-service.ts';

const service = shareService();
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

function expectOutsideTheApi({ headers }: Response): void {
  const ofTheApi = [...headers.keys()].filter((name) => /^x-(ratelimit|credits)/.test(name));
  expect(ofTheApi).toEqual([]);
}

describe('GET /openapi.json', () => {
  it('is the document, without a key and with the version of the package', async () => {
    const response = await fetch(`${service.url}/openapi.json`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expectOutsideTheApi(response);
    const shown = { origin: service.url, videoUrl: service.sampleUrl('bars') };
    expect(await response.json()).toEqual(
      JSON.parse(JSON.stringify(createOpenApi({ version, examples: readExamples(), shown }))),
    );
  });
});

describe('GET /docs', () => {
  it('is one page that needs nothing from elsewhere', async () => {
    const response = await fetch(`${service.url}/docs`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expectOutsideTheApi(response);
    const page = await response.text();
    const [script, ...more] = [...page.matchAll(/<script>(.*?)<\/script>/gs)].map(([, text = '']) => text);
    expect(more).toEqual([]);
    const policy = response.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src 'sha256-${hash('sha256', script ?? '', 'base64')}';`);
    expect(page).not.toMatch(/<script |<link|<img|<iframe|@import|url\(|\ssrc=|\son\w+=/i);
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, target = '']) => target);
    const elsewhere = links.filter((target) => !target.startsWith('#'));
    const outside = elsewhere.filter((target) => !target.startsWith('/'));
    expect(new Set(outside)).toEqual(
      new Set(['https://www.rfc-editor.org/rfc/rfc7240', 'https://www.standardwebhooks.com']),
    );
    for (const target of new Set(elsewhere.filter((one) => one.startsWith('/')))) {
      const answer = await fetch(service.url + target);
      expect([target, answer.status]).toEqual([target, 200]);
      await answer.body?.cancel();
    }
    const anchors = new Set([...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => `#${String(id)}`));
    expect(links.filter((target) => target.length > 1 && target.startsWith('#') && !anchors.has(target))).toEqual([]);
  });

  it('serves each whole program as it stands', async () => {
    const folder = join(root, 'docs/examples/client');
    const programs = readdirSync(folder).filter((name) => name !== 'tsconfig.json');
    expect(programs.length).toBeGreaterThan(3);
    for (const name of programs) {
      const response = await fetch(`${service.url}/docs/examples/client/${name}`);
      expectOutsideTheApi(response);
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(await response.text()).toBe(readFileSync(join(folder, name), 'utf8'));
    }
    expect((await fetch(`${service.url}/docs/examples/client/tsconfig.json`)).status).toBe(404);
  });

  it('has every endpoint, error, reason and example, and the address of this service', async () => {
    const page = await (await fetch(`${service.url}/docs`)).text();
    const words = [
      ...endpoints.flatMap(({ path, reference }) => [path, `id="${reference.operationId}"`]),
      ...Object.keys(apiErrors),
      ...failureReasonNames,
      ...readExamples().map(({ summary }) => summary),
      `${service.url}/api/v1/video/download`,
      service.sampleUrl('bars'),
    ];
    expect(words.filter((word) => !page.includes(word))).toEqual([]);
  });
});
