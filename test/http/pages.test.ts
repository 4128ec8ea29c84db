import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ended, queue } from '../support/downloads.ts';
import { demoOf, shareService } from './shared-service.ts';

const service = shareService();
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

async function ask(url: string, accept: string, method = 'GET') {
  const response = await fetch(url, { method, headers: { accept } });
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
}

function expectPage({ headers, text }: Awaited<ReturnType<typeof ask>>): void {
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('vary')).toBe('Accept');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(text).toMatch(/^<!doctype html>/);
  expect(text).toContain('width=device-width');
  expect(text).not.toMatch(/<script|<link|<img|@import|url\(|\ssrc=/i);
}

describe('the start page', () => {
  it('says to people what this is, and shows the ways in', async () => {
    const page = await ask(`${service.url}/`, browser);
    expect(page.status).toBe(200);
    expectPage(page);
    for (const link of ['/console', '/docs', '/openapi.json', '/readyz']) {
      expect(page.text).toContain(`href="${link}"`);
      const led = await fetch(service.url + link, { redirect: 'manual' });
      expect([link, led.status]).toEqual([link, link === '/console' ? 303 : 200]);
      await led.body?.cancel();
    }
    // A proxy passes no health checks to the internet.
    const behindProxy = await fetch(`${service.url}/`, {
      headers: { accept: browser, 'x-forwarded-for': '192.0.2.1' },
    });
    const text = await behindProxy.text();
    expect([text.includes('href="/docs"'), text.includes('href="/readyz"')]).toEqual([true, false]);
  });

  it.each(['*/*', 'application/json', 'text/html;q=0.5, application/json', 'text/html;q=0', 'text/plain', ''])(
    'is JSON for a program that accepts %j',
    async (accept) => {
      const { status, headers, text } = await ask(`${service.url}/`, accept);
      expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([200, 'application/json', 'Accept']);
      const { success, data } = JSON.parse(text) as { success: boolean; data: object };
      expect([success, data]).toEqual([true, expect.objectContaining({ docs: '/docs', openapi: '/openapi.json' })]);
    },
  );

  it('is there for HEAD', async () => {
    const { status, headers, text } = await ask(`${service.url}/`, browser, 'HEAD');
    expect([status, headers.get('content-type'), text]).toEqual([200, 'text/html; charset=utf-8', '']);
  });
});

describe('a dead link', () => {
  it('says to people what happened and what to do, and to programs its code', async () => {
    const { url, sampleUrl, dataDirectory } = service;
    const { key } = demoOf(service);
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars'), quality: '360' });
    const done = await ended(url, key, token);
    if (done.status !== 'done') throw new Error('the download failed');
    const link = done.download_url;
    rmSync(join(dataDirectory, 'files', token), { recursive: true });
    for (const [address, status, code, advice] of [
      [link, 404, 'not_found', /queue the download again/i],
      [link.replace('signature=', 'signature=A'), 403, 'link_invalid', /copy the whole link/i],
    ] as const) {
      const page = await ask(address, browser);
      expect(page.status).toBe(status);
      expectPage(page);
      expect(page.text).toMatch(advice);
      expect(page.text).not.toContain(token);
      expect(page.headers.get('referrer-policy')).toBe('no-referrer');
      const program = await ask(address, '*/*');
      expect([program.status, program.headers.get('vary')]).toEqual([status, 'Accept']);
      expect((JSON.parse(program.text) as { error: { code: string } }).error.code).toBe(code);
    }
  });
});
