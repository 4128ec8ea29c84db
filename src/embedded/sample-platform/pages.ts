import { pagePath, type SampleItem, sampleItems } from './items.ts';

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** All texts are our own constants today. Escaping keeps the pages safe if others are added. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => escapes[character] ?? character);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 0.4rem 0.8rem 0.4rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
code { font-size: 0.9em; }
td code { white-space: nowrap; }
img { max-width: 100%; height: auto; }
@media (max-width: 60rem) {
  thead { display: none; }
  tr, td { display: block; }
  tr { padding: 0.6rem 0; border-bottom: 1px solid #ddd; }
  td { padding: 0.1rem 0; border: 0; }
  td code { white-space: normal; overflow-wrap: anywhere; }
}
</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** What becomes of a download of an item, and what is charged for it. */
function outcomeOf({ failsAs, delivery }: SampleItem): { ends: string; charged: string } {
  if (failsAs !== undefined)
    return { ends: `fails: <code>${escapeHtml(failsAs)}</code>`, charged: 'one download, which stays charged' };
  const attempts = delivery === 'flaky' ? ', at the second attempt' : '';
  return { ends: `a file${attempts}`, charged: 'one download' };
}

/** The list of all items, each with what it is for, what becomes of its download, and its address. */
export function indexPage(base: string): string {
  const rows = Object.entries(sampleItems).map(([id, item]) => {
    const url = escapeHtml(base + pagePath(id, item));
    const { ends, charged } = outcomeOf(item);
    return `<tr><td>${escapeHtml(item.title)}</td><td>${escapeHtml(item.kind)}</td><td>${ends}</td><td>${charged}</td><td><a href="${url}"><code>${url}</code></a></td></tr>`;
  });
  const body = `<h1>Sample platform</h1>
<p>Films made on this machine, for trying the service without the internet. Give one of these addresses to the service.</p>
<p>A download is charged when it is queued, with a credit of the allowance or the overage price, because the work begins then. It stays charged where the video or its platform is why it fails, as here. A failure of the service itself is given back.</p>
<table>
<thead><tr><th>Title</th><th>Kind</th><th>A download</th><th>Charge</th><th>Address</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`;
  return page('Sample platform', body);
}

/** One item's page, for people; the extractor reads the JSON beside it. */
export function watchPage(id: string, item: SampleItem): string {
  const body = `<h1>${escapeHtml(item.title)}</h1>
<p><img src="/thumbnails/${id}.svg" alt="Colour bars" width="480" height="270"></p>
<p>${escapeHtml(item.kind)}</p>
<p>A download of it: ${outcomeOf(item).ends}. Charge: ${outcomeOf(item).charged}.</p>
<p><a href="/api/items/${id}">as JSON</a> · <a href="/">all items</a></p>`;
  return page(item.title, body);
}

const barColours = ['#fff', '#ff0', '#0ff', '#0f0', '#f0f', '#f00', '#00f'];

/** A still of colour bars with the item's title. */
export function thumbnail(item: SampleItem): string {
  const bars = barColours.map((colour, index) => {
    return `<rect x="${index * 92}" width="92" height="300" fill="${colour}"/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="360" viewBox="0 0 640 360"><rect width="640" height="360" fill="#222"/>${bars.join('')}<text x="320" y="342" fill="#fff" font-family="sans-serif" font-size="28" text-anchor="middle">${escapeHtml(item.title)}</text></svg>
`;
}
