/** The page brings all that it needs along and can be read without internet. It follows the reader's dark mode. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #e1e5ea; --paper: #fff; --panel: #f6f7f9;
  --accent: #0b63b5; --get: #0b63b5; --post: #1d7a46; --good: #1d7a46; --bad: #a4371f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa6b5; --line: #2d3642; --paper: #12161c;
  --panel: #1a2029; --accent: #6db3f2; --get: #2872b8; --post: #257a4b; --good: #62c894; --bad: #f0937d; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 16px/1.6 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
.page { display: grid; grid-template-columns: 16rem minmax(0, 54rem); gap: 3rem; max-width: 76rem; margin: 0 auto; padding: 0 1.5rem; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 2rem 0; font-size: .9rem; }
nav a { display: block; padding: .2rem 0; color: var(--ink); text-decoration: none; }
nav a:hover { color: var(--accent); }
nav strong { display: block; margin: 1.1rem 0 .2rem; color: var(--soft); font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; }
nav .name { font-size: 1.15rem; font-weight: 700; }
nav .method { width: 2.6rem; padding: 0; font-size: .62rem; line-height: 1.6; }
main { padding: 2rem 0 5rem; min-width: 0; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; }
h2 { margin: 3.2rem 0 .8rem; font-size: 1.4rem; line-height: 1.3; }
h3 { margin: 1.6rem 0 .5rem; font-size: 1rem; }
summary { cursor: pointer; }
.endpoint { border-top: 1px solid var(--line); }
main > details > summary { padding: 1rem 0; list-style: none; }
main > details > summary::-webkit-details-marker { display: none; }
main > details { margin-top: 2rem; } main > details h2 { margin: 0; } .endpoint h2 { margin-bottom: .4rem; }
main > details:not([open]) h2::after { content: " +"; color: var(--soft); font-weight: 400; }
.contents > summary { display: none; }
.languages { margin: 1rem 0 0; padding: 0; border: 0; } .languages label { margin-right: .7rem; white-space: nowrap; cursor: pointer; }
.languages legend { padding: 0; color: var(--soft); font-size: .75rem; font-weight: 700; letter-spacing: .06em; text-transform: uppercase; }
.languages input { margin: 0 .3rem 0 0; }
.search { margin-top: 1rem; } .search[hidden] { display: none; }
.search input { width: 100%; padding: .45rem .6rem; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; font: inherit; }
.hits button { display: block; width: 100%; padding: .4rem 0; color: var(--ink); background: none; border: 0; border-bottom: 1px solid var(--line); font: inherit; font-size: .8rem; line-height: 1.35; text-align: left; cursor: pointer; overflow-wrap: anywhere; }
.hits button:hover { color: var(--accent); }
.reader { margin: 0 0 .6rem; } .reader[hidden] { display: none; } .reader label { display: block; font-weight: 600; }
.reader input { display: block; width: 100%; max-width: 32rem; margin: .2rem 0; padding: .45rem .6rem; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; font: inherit; font-weight: 400; }
.found { outline: 2px solid var(--accent); outline-offset: 2px; }
.listing { margin: .4rem 0 1rem; }
.tabs { display: flex; gap: .2rem; } .tabs label { padding: .15rem .7rem; color: var(--soft); border-radius: .4rem .4rem 0 0; font-size: .8rem; cursor: pointer; }
.listing pre { margin: 0; border-top-left-radius: 0; }
body:not(:has(#in-curl:checked)) .listing pre.curl, body:not(:has(#in-typescript:checked)) .listing pre.typescript,
body:not(:has(#in-python:checked)) .listing pre.python { display: none; }
body:has(#in-curl:checked) label.curl, body:has(#in-typescript:checked) label.typescript,
body:has(#in-python:checked) label.python { color: var(--ink); background: var(--panel); font-weight: 600; }
.lead { color: var(--soft); font-size: 1.1rem; margin: .4rem 0 1.5rem; }
.route { display: flex; align-items: center; gap: .6rem; font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; font-size: .95rem; overflow-wrap: anywhere; }
.method { display: inline-block; padding: .1rem .5rem; border-radius: .25rem; color: #fff; font: 700 .75rem/1.6 system-ui, sans-serif; text-align: center; }
.get { background: var(--get); } .post { background: var(--post); }
a { color: var(--accent); }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; font-size: .86em; }
code { background: var(--panel); border-radius: .2rem; padding: .08rem .16rem; overflow-wrap: anywhere; }
pre { position: relative; margin: .4rem 0 1rem; padding: .9rem 1rem; white-space: pre-wrap; background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; line-height: 1.5; font-size: .84rem; }
pre .copy { position: absolute; top: .4rem; right: .4rem; padding: .1rem .5rem; color: var(--soft); background: var(--paper); border: 1px solid var(--line); border-radius: .3rem; font: .72rem/1.6 system-ui, sans-serif; cursor: pointer; opacity: 0; }
pre:hover .copy, pre .copy:focus { opacity: 1; } @media (hover: none) { pre .copy { opacity: 1; } }
pre code { padding: 0; background: none; font-size: inherit; }
table { width: 100%; border-collapse: collapse; margin: .4rem 0 1.2rem; font-size: .92rem; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .8rem; }
th, td { padding: .45rem .8rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { white-space: nowrap; }
td.type { color: var(--soft); white-space: nowrap; }
.note { color: var(--soft); font-size: .85em; }
.status { font-weight: 700; color: var(--good); } .status.bad { color: var(--bad); }
@media (max-width: 60rem) { .page { grid-template-columns: minmax(0, 1fr); gap: 0; } nav { position: static; max-height: none; padding-bottom: 0; }
  nav .contents { margin-top: 1rem; } .contents > summary { display: list-item; }
  .cards thead { display: none; } .cards tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .cards td { display: block; padding: .1rem 0; border: 0; } .cards td::before { content: attr(data-label) ": "; color: var(--soft); font-size: .85em; }
  td:first-child, td.type { white-space: normal; } h2 { margin-top: 2rem; } h2, main > details h2 { font-size: 1.2rem; }
  main > details { margin-top: 0; border-top: 1px solid var(--line); } main > details > summary { padding: .8rem 0; } }
@media print { nav, .tabs, .copy { display: none; } .page { display: block; } }
`;
