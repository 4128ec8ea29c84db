import { type Html, html } from '../../documents/html.ts';
import { type GuideSection, programsFolder } from './guide.ts';
import { quickStartListing, retriedListing } from './page-programs.ts';
import { type Listing, listing, type ShownService } from './page-requests.ts';

/** The chapters beside the endpoints: how to begin, the guide, and the ways to a client. */

/** A part of the page that can be folded, and is on a small screen. */
const chapter = (id: string, title: string, content: Html): Html =>
  html`<details class="chapter" id="${id}" open>
    <summary><h2>${title}</h2></summary>
    ${content}
  </details>`;

/** Stands for the key of a reader who is not known. */
const noKey = 'rtk_…';

/** The variables of all examples. @param key of the reader, if it is known */
export function variables({ origin, videoUrl }: ShownService, key: string | undefined): Html {
  return html`<h2 id="begin">Begin here</h2>
    <p>
      Paste these lines into a terminal. All examples of this page use them, run there as they stand, and are charged to
      the account of the key. A started demo prints a key, the
      <a href="/console/keys">console</a> issues one to an owner who is signed in, and an operator issues one with
      <code>keys issue</code>. A key is shown only once, because the service stores only its hash.
    </p>
    <div class="reader" hidden>
      <label
        >Your API key
        <input type="text" autocomplete="off" spellcheck="false" maxlength="100" placeholder="${noKey}" /></label
      ><span class="note">It is filled in below, is kept by this tab alone, and is sent nowhere.</span>
    </div>
    <pre><code>export REELTALLY_URL=${origin}
export REELTALLY_KEY=<span class="reader-key">${key ?? noKey}</span>
export VIDEO=${videoUrl}
export FOLDER=.</code></pre>`;
}

export function quickStart(apiUrl: string, { videoUrl }: ShownService): Html {
  return html`<h2 id="start">Quick start</h2>
    <p>
      A download takes three steps: queue it, wait for its end, fetch the file. With the header
      <code>Prefer: wait=60, until=ended</code> the status is answered when the download has ended, or after a minute,
      and does not count in the hour. The link is good for an hour and needs no key; each poll returns a new one.
    </p>
    ${listing(quickStartListing(apiUrl, videoUrl))}
    <p>
      Examples below that have a <code>TOKEN</code> mean the <code>request_token</code> of a download. The lines for
      curl set it; in another terminal, <code>export TOKEN=…</code>.
    </p>`;
}

/** @param apiUrl for the listings that belong to a section */
export function guideChapters(sections: readonly GuideSection[], apiUrl: string, { videoUrl }: ShownService): Html[] {
  const listings: Readonly<Record<string, Listing>> = { 'when-to-try-again': retriedListing(apiUrl, videoUrl) };
  return sections.map(({ id, title, content }) => {
    const own = listings[id];
    return chapter(id, title, html`${content} ${own && listing(own)}`);
  });
}

export function clients(): Html {
  const content = html`<p>
    <a href="/openapi.json">openapi.json</a> is this reference as OpenAPI 3.1, for any generator. A typed client for
    TypeScript, generated from it, with a command line, is a package in the source under <code>src/client</code>.
    <a href="/docs/${programsFolder}typescript.ts">typescript.ts</a> is a whole program that uses it.
  </p>`;
  return chapter('clients', 'Clients', content);
}
