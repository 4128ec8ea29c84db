import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { whyNoBrowser } from './browser-of-run.ts';
import { askFor } from './offers-of-run.ts';
import { patienceMs } from './wait-for.ts';

/** Whether tests in a browser are left out, which the end of the run says; in CI they fail instead. */
export const isWithoutBrowser: boolean = whyNoBrowser() !== undefined && process.env['CI'] !== 'true';

/** The two widths at which pages are looked at, in CSS pixels. */
export const viewports = { wide: { width: 1280, height: 850 }, phone: { width: 390, height: 800 } } as const;
export type Viewport = keyof typeof viewports;

export const colorSchemes = ['light', 'dark'] as const;
export type ColorScheme = (typeof colorSchemes)[number];

export type Session = NonNullable<Exclude<BrowserContextOptions['storageState'], string>>;

interface VisitOptions {
  /** Default: wide and light. */
  viewport?: Viewport;
  colorScheme?: ColorScheme;
  /** Of somebody who has signed in. */
  session?: Session | undefined;
  hasScript?: boolean;
}

export interface BrowserOfFile {
  /** A page in a context of its own, which is closed after the test. */
  open: (origin: string, options?: VisitOptions) => Promise<Page>;
  /** The same, which stays open for the tests that follow: a new context costs more than a page that is loaded in one. */
  openForFile: (origin: string, options?: VisitOptions) => Promise<Page>;
  /** One empty page for the whole file, in which the tests themselves compute. */
  blank: () => Promise<Page>;
  /** Statuses of 400 and more that the running test means to see, beside those that fail it. */
  expectStatus: (status: number) => void;
}

/**
 * The browser for the tests of one file. A test fails if any of its pages reports an error, violates its security policy, lacks
 * something it asked for, or asks another origin for anything.
 */
export function browserOfFile(): BrowserOfFile {
  let browser: Browser | undefined;
  let blank: Promise<Page> | undefined;
  const contexts: BrowserContext[] = [];
  const problems: string[] = [];
  const expected = new Set<number>();
  beforeAll(async () => {
    const { endpoint } = await askFor<{ endpoint: string }>('browser');
    browser = await chromium.connect(endpoint);
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    const found = problems.splice(0);
    expected.clear();
    expect(found).toEqual([]);
  });
  const openIn = async (
    origin: string,
    { viewport = 'wide', colorScheme = 'light', session, hasScript = true }: VisitOptions = {},
  ): Promise<Page> => {
    const context = await browser!.newContext({
      baseURL: origin,
      viewport: viewports[viewport],
      colorScheme,
      javaScriptEnabled: hasScript,
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
      ...(session && { storageState: session }),
    });
    context.setDefaultTimeout(patienceMs);
    await watch(context, { origin, report: (problem) => problems.push(problem), isExpected: (s) => expected.has(s) });
    return context.newPage();
  };
  return {
    open: async (origin, options) => {
      const page = await openIn(origin, options);
      contexts.push(page.context());
      return page;
    },
    openForFile: openIn,
    blank: () => (blank ??= browser!.newPage()),
    expectStatus: (status) => expected.add(status),
  };
}

interface Watcher {
  origin: string;
  report: (problem: string) => void;
  isExpected: (status: number) => boolean;
}

const violationMark = 'security policy violated:';
/** Reported by the page itself, as an error of its console. */
const reportViolations = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) =>
  console.error('${violationMark}', violatedDirective, blockedURI, sourceFile))`;

async function watch(context: BrowserContext, { origin, report, isExpected }: Watcher): Promise<void> {
  await context.addInitScript(reportViolations);
  context.on('console', (message) => {
    // The status of every answer is looked at below.
    const isAboutAnswer = message.text().startsWith('Failed to load resource: the server responded with a status of');
    if (message.type() === 'error' && !isAboutAnswer) report(`${message.page()?.url() ?? ''}: ${message.text()}`);
  });
  context.on('weberror', (error) => report(`${error.page()?.url() ?? ''}: ${error.error().message}`));
  context.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (protocol.startsWith('http') && asked !== origin) report(`asked another origin: ${request.url()}`);
  });
  context.on('response', (response) => {
    if (response.status() >= 400 && !isExpected(response.status()))
      report(`${response.url()} answered ${String(response.status())}`);
  });
  context.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? '';
    // Browsers give up what they no longer need: live streams of a page that they leave, and navigation to a file to save.
    if (why !== 'net::ERR_ABORTED') report(`${request.url()}: ${why}`);
  });
}
