import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { failureReasonNames } from '../../../src/domain/failure-reasons.ts';
import { apiPrefix, endpoints } from '../../../src/http/endpoints.ts';
import { apiErrors, errorsOfEveryEndpoint } from '../../../src/http/errors.ts';
import { readExamples } from '../../../src/http/reference/examples.ts';
import { createOpenApi } from '../../../src/http/reference/openapi.ts';
import { languages } from '../../../src/http/reference/page-requests.ts';
import { type ErrorResponse, operationsOf, type Reference, resolve } from '../../../src/openapi/document.ts';

const shown = { origin: 'https://api.example.com', videoUrl: 'https://videos.example.com/watch/bars' };
const document = createOpenApi({ version: '1.2.3', examples: readExamples(), shown });
const operations = operationsOf(document);

const shapeOf = (schema: z.ZodObject | undefined) => (schema?.shape ?? {}) as Record<string, z.ZodType>;

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(
      JSON.parse(JSON.stringify(document)) as Record<string, unknown>,
    );
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it('has every endpoint, and nothing else', () => {
    expect(document.servers[0]?.url).toBe(apiPrefix);
    const listed = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(listed).toEqual(endpoints.map(({ method, path }) => `${method} ${path}`));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(endpoints.length);
  });

  it('groups every endpoint, and shows its request in every language', () => {
    const groups = document.tags?.map(({ name }) => name);
    for (const { tags = [], path, 'x-codeSamples': samples = [] } of operations) {
      expect(groups).toContain(tags[0]);
      expect(samples.map(({ label }) => label)).toEqual(Object.values(languages));
      for (const { source } of samples) expect(source).toContain(`https://api.example.com${apiPrefix}${path}`);
    }
  });

  it('says with metadata that a platform does not give why, and whether to ask again', () => {
    const { content } = document.components.responses?.['metadata_unavailable'] ?? {};
    const { required, properties = {} } = content?.['application/json'].schema.properties?.['error'] ?? {};
    expect(required).toEqual(['code', 'message']);
    expect(properties['reason']?.enum).toEqual(failureReasonNames);
    expect(properties['retryable']?.type).toBe('boolean');
  });

  it('lists for every endpoint its errors, by status and with their texts', () => {
    for (const { method, path, reference } of endpoints) {
      const { responses = {} } = document.paths[path]?.[method === 'GET' ? 'get' : 'post'] ?? {};
      const told = Object.entries(responses).flatMap(([status, response]) => {
        const whole = resolve<ErrorResponse>(document, response as Reference);
        return Object.entries('x-errors' in whole ? whole['x-errors'] : {}).map(
          ([code, text]) => `${status} ${code} ${text}`,
        );
      });
      const listed = [...errorsOfEveryEndpoint, ...reference.errors].map(
        (code) => `${String(apiErrors[code].status)} ${code} ${apiErrors[code].message}`,
      );
      expect(told.sort()).toEqual(listed.sort());
    }
  });

  it('has no error that no endpoint answers, but for wrong paths and methods', () => {
    const answered = new Set([...errorsOfEveryEndpoint, ...endpoints.flatMap(({ reference }) => reference.errors)]);
    expect(Object.keys(apiErrors).filter((code) => !answered.has(code as never))).toEqual(['method_not_allowed']);
  });

  it('has the four headers with every response, and the scheme of the keys', () => {
    for (const { responses } of operations) {
      for (const response of Object.values(responses)) {
        const { headers } = resolve<ErrorResponse>(document, response as Reference);
        expect(Object.keys(headers ?? {})).toEqual(
          expect.arrayContaining([
            'X-RateLimit-Limit',
            'X-RateLimit-Remaining',
            'X-RateLimit-Reset',
            'X-Credits-Remaining',
          ]),
        );
      }
    }
    expect(document.security).toEqual([{ apiKey: [] }]);
    expect(document.components.securitySchemes['apiKey']).toMatchObject({ type: 'http', scheme: 'bearer' });
  });

  it('has every reason for which a download fails', () => {
    const { properties = {} } = document.components.schemas?.['DownloadFailed'] ?? {};
    expect(properties['error']?.enum).toEqual(failureReasonNames);
    expect(Object.keys(properties['error']?.['x-enumDescriptions'] ?? {})).toEqual(failureReasonNames);
  });

  it('shows requests that its own schemas take', () => {
    for (const { method, path, reference } of endpoints) {
      const { parameters = [], requestBody } = document.paths[path]?.[method === 'GET' ? 'get' : 'post'] ?? {};
      for (const { name, examples = {} } of parameters) {
        for (const { value } of Object.values(examples))
          expect(shapeOf(reference.query)[name]?.parse(value)).toBe(value);
      }
      const bodies = Object.values(requestBody?.content['application/json'].examples ?? {});
      for (const { value } of bodies) expect(reference.body?.schema.safeParse(value).success).toBe(true);
    }
  });

  it('shows for every endpoint an answer that a test got, in the schema that checks it', () => {
    for (const { path, method, reference } of endpoints) {
      const succeeding = readExamples().filter(
        ({ request, response }) =>
          request.path === path && request.method === method && response.status === reference.success.status,
      );
      expect(succeeding.length).toBeGreaterThan(0);
      for (const { response } of succeeding) {
        const { data } = response.body;
        expect(reference.success.data.parse(data)).toEqual(data);
      }
    }
  });
});
