import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readExamples } from '../../../src/http/reference/examples.ts';
import { createOpenApi } from '../../../src/http/reference/openapi.ts';
import { retries } from '../../../src/http/reference/page-chapters.ts';
import { requestListing } from '../../../src/http/reference/page-requests.ts';
import { operationsOf } from '../../../src/openapi/document.ts';
import { call } from '../../support/client.ts';
import { demoOf, noDownloads, shareService } from '../shared-service.ts';

const service = shareService(noDownloads);
const operations = operationsOf(createOpenApi({ version: '1.2.3', examples: readExamples() }));
const run = promisify(execFile);

/** A listing, with an address and a token of this service where the examples have others. */
async function listingFor(operationId: string, language: 'curl' | 'typescript' | 'python'): Promise<string> {
  const operation = operations.find((each) => each.operationId === operationId);
  if (!operation) throw new Error(`no operation ${operationId}`);
  const listed = requestListing(operation, `${service.url}/api/v1`)[language];
  return await ofThisService(listed);
}

async function ofThisService(listed: string): Promise<string> {
  const { key } = demoOf(service);
  const queued = await call(service.url, '/video/download', { key, body: { url: service.sampleUrl('bars') } });
  return listed
    .replaceAll('https://videos.example.com/watch/bars', service.sampleUrl('bars'))
    .replaceAll(/Ak3JvV0m7Qd2Zb8cXrY5nTg0example0/g, String(queued.data['request_token']));
}

const environment = () => ({ ...process.env, KEY: demoOf(service).key });

async function inNode(code: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { env: environment() });
  return JSON.parse(stdout);
}

describe('the requests that the reference lists', () => {
  it.each(operations.map(({ operationId }) => operationId))('%s does what it says', async (id) => {
    const { stdout } = await run('sh', ['-c', await listingFor(id, 'curl')], { env: environment() });
    expect(JSON.parse(stdout)).toMatchObject({ success: true });
    const printed = `${await listingFor(id, 'typescript')}\nconsole.log(JSON.stringify({ success, data, error }));`;
    expect(await inNode(printed)).toMatchObject({ success: true });
  });

  it('the retried download is queued once, however often it is sent', async () => {
    const chapter = await ofThisService(retries(operations, `${service.url}/api/v1`).text);
    const listed = (language: string) => {
      const [, text = ''] = new RegExp(`<pre class="${language}"><code>([^<]*)</code>`).exec(chapter) ?? [];
      return text
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&amp;', '&');
    };
    const { stdout } = await run('sh', ['-c', listed('curl')], { env: environment() });
    const again = await inNode(`${listed('typescript')}\nconsole.log(await response.text());`);
    expect(again).toMatchObject({ success: true });
    expect(again).toEqual(JSON.parse(stdout));
  });
});
