import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
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
    expect(await response.json()).toEqual(
      JSON.parse(JSON.stringify(createOpenApi({ version, examples: readExamples() }))),
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
    expect(links.filter((target) => !/^(#|\/openapi\.json$)/.test(target))).toEqual([]);
    const anchors = new Set([...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => `#${String(id)}`));
    expect(links.filter((target) => target.length > 1 && target.startsWith('#') && !anchors.has(target))).toEqual([]);
  });

  it('has every endpoint, error, reason and example, and the address of this service', async () => {
    const page = await (await fetch(`${service.url}/docs`)).text();
    const words = [
      ...endpoints.flatMap(({ path, reference }) => [path, `id="${reference.operationId}"`]),
      ...Object.keys(apiErrors),
      ...failureReasonNames,
      ...readExamples().map(({ summary }) => summary),
      `${service.url}/api/v1/video/download`,
    ];
    expect(words.filter((word) => !page.includes(word))).toEqual([]);
  });
});
