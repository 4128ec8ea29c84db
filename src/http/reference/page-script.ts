/**
 * The script of the page: it searches the page's text, copies listings, remembers the language, and folds
 * endpoints on a small screen. It talks to nobody. Plain JavaScript, because a browser reads it as it stands.
 */
export const pageScript = `
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const folding = all('details');
  if (matchMedia('(max-width: 60rem)').matches) for (const part of folding) part.open = false;

  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const part = target && target.closest('details');
    if (!part || part.open) return;
    part.open = true;
    target.scrollIntoView();
  };
  addEventListener('hashchange', unfold);
  addEventListener('beforeprint', () => { for (const part of folding) part.open = true; });
  unfold();

  const store = { get: () => { try { return localStorage.getItem('language'); } catch { return null; } },
    set: (id) => { try { localStorage.setItem('language', id); } catch { /* forgotten at the next visit */ } } };
  const kept = document.getElementById(store.get() || '');
  if (kept) kept.checked = true;
  for (const choice of all('[name=language]')) choice.addEventListener('change', () => store.set(choice.id));

  const reader = document.querySelector('.reader');
  const key = document.querySelector('.reader-key');
  const unknown = key.textContent;
  const keyForm = /^rtk_\\w+$/;
  const fillIn = (value) => { key.textContent = keyForm.test(value) ? value : unknown; };
  try {
    const field = reader.querySelector('input');
    field.value = sessionStorage.getItem('key') || '';
    if (field.value) fillIn(field.value);
    field.addEventListener('input', () => {
      const value = field.value.trim();
      fillIn(value);
      if (keyForm.test(value)) sessionStorage.setItem('key', value);
      else sessionStorage.removeItem('key');
    });
    reader.hidden = false;
  } catch { /* a browser that keeps nothing: the key is typed into the terminal */ }

  const copyText = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    // Without https a browser has no clipboard but this one.
    const area = Object.assign(document.createElement('textarea'), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  };
  for (const listing of all('pre')) {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' });
    button.addEventListener('click', async () => {
      await copyText(listing.querySelector('code').textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
    listing.append(button);
  }

  const search = document.querySelector('.search');
  const [field, hits] = search.children;
  search.hidden = false;
  let title = null;
  const places = [];
  for (const element of all('main h1, main h2, main h3, main p, main tr, main pre')) {
    if (/^H[123]$/.test(element.tagName)) title = element.textContent.trim();
    const text = element.textContent.replace(/\\s+/g, ' ').trim();
    places.push({ element, title, text, low: text.toLowerCase() });
  }
  const show = ({ element }) => {
    const part = element.closest('details');
    if (part) part.open = true;
    const inLanguage = element.matches('.listing pre') && document.getElementById('in-' + element.className);
    if (inLanguage) inLanguage.checked = true;
    element.scrollIntoView({ block: 'center' });
    element.classList.add('found');
    setTimeout(() => element.classList.remove('found'), 2000);
  };
  const snippet = (place, words) => {
    const from = Math.max(0, place.low.indexOf(words[0]) - 30);
    return (from > 0 ? '…' : '') + place.text.slice(from, from + 90) + (place.text.length > from + 90 ? '…' : '');
  };
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const found = words.length === 0 ? [] : places.filter(({ low }) => words.every((word) => low.includes(word)));
    hits.replaceChildren(...found.slice(0, 12).map((place) => {
      const hit = Object.assign(document.createElement('button'), { type: 'button' });
      const name = Object.assign(document.createElement('b'), { textContent: place.title });
      hit.append(name, document.createElement('br'), snippet(place, words));
      hit.addEventListener('click', () => show(place));
      return hit;
    }));
    if (words.length > 0 && found.length === 0) hits.textContent = 'Nothing found';
  });
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') hits.querySelector('button')?.click();
    if (event.key === 'Escape') { field.value = ''; hits.replaceChildren(); }
  });
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
    event.preventDefault();
    field.focus();
  });
})()`;
