import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import type { CutColumn, Different, Shown, Weight } from './in-page/answers.ts';

/** Functions that run in the page; each stands in a file of its own, and uses nothing of others. */
interface InPage {
  compare: (shown: Shown) => Promise<Different | undefined>;
  cuts: () => Promise<CutColumn[]>;
  flaws: () => Promise<string[]>;
  settle: () => Promise<void>;
  weight: () => Weight;
}

export async function inPage<Name extends keyof InPage>(
  page: Page,
  name: Name,
  ...given: Parameters<InPage[Name]>
): Promise<Awaited<ReturnType<InPage[Name]>>> {
  const file = fileURLToPath(new URL(`in-page/${name}.ts`, import.meta.url));
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8')).replace(/^export /m, '');
  const answer: unknown = await page.evaluate(`(() => { ${code}\n return ${name}(...${JSON.stringify(given)}); })()`);
  return answer as Awaited<ReturnType<InPage[Name]>>;
}
