import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, it } from 'vitest';
import { jsonEndpoints } from '../../../src/console/staff/json-endpoints.ts';
import { createStaffOpenApi } from '../../../src/console/staff/openapi.ts';
import { noDownloads, shareService } from '../../http/shared-service.ts';
import { Browser, type Page } from '../browser.ts';

const service = shareService(noDownloads);
const document = createStaffOpenApi('1.2.3');

describe('the OpenAPI document of the API of staff', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(
      JSON.parse(JSON.stringify(document)) as Record<string, unknown>,
    );
    expect([valid, errors]).toEqual([true, undefined]);
  });

  it('has every endpoint, each with a name and a scope of its own words', () => {
    const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(listed).toEqual(jsonEndpoints.map(({ method, path }) => `${method} ${path}`));
    expect(new Set(jsonEndpoints.map(({ operationId }) => operationId)).size).toBe(jsonEndpoints.length);
  });

  it('names every part of a path', () => {
    for (const { path, method } of jsonEndpoints) {
      const parameters = document.paths[path]?.[method === 'GET' ? 'get' : 'post']?.parameters ?? [];
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
      expect(inPath.sort()).toEqual((path.match(/\{\w+\}/g) ?? []).sort());
    }
  });
});

describe('the listener of staff', () => {
  let json: Page;
  let page: Page;

  beforeAll(async () => {
    const browser = new Browser(service.staffUrl ?? '');
    [json, page] = [await browser.get('/staff/openapi.json'), await browser.get('/staff/docs')];
  });

  it('serves the document and a page of it to everybody on its network', () => {
    const { info, ...rest } = JSON.parse(json.text) as typeof document;
    expect(rest).toEqual((({ info: _info, ...others }) => others)(document));
    expect([json.headers['content-type'], info.version]).toEqual(['application/json', expect.any(String)]);
    expect(page.status).toBe(200);
    for (const { path, summary } of jsonEndpoints)
      for (const part of [path, summary]) expect(page.text).toContain(part);
  });
});
