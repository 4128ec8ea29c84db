/**
 * A browser has one session. Once somebody signs in to another account, in another tab, this page is of an account that its links
 * and forms do not reach any more: it says so.
 */

const signedIn = 'reeltally signed in';
/** Whose page this is: an account's, or that of a member of staff. */
export const { reader } = document.body.dataset;

function tell(other: string): void {
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-labelledby', 'another-account');
  const title = document.createElement('h2');
  title.id = 'another-account';
  title.textContent = 'Another account is signed in';
  const text = document.createElement('p');
  text.textContent = `This page is of ${reader ?? ''}. In another tab, this browser has signed in as ${other}, and nothing can be sent from here any more.`;
  const link = document.createElement('a');
  link.className = 'button';
  link.href = document.querySelector<HTMLAnchorElement>('.brand a')?.href ?? '/';
  link.textContent = `Go on as ${other}`;
  dialog.append(title, text, link);
  // It stays: there is no way back to this page.
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  document.body.append(dialog);
  dialog.showModal();
}

if (reader !== undefined) {
  try {
    localStorage.setItem(signedIn, reader);
  } catch {
    // A browser that keeps nothing for pages: its tabs do not tell each other.
  }
  addEventListener('storage', ({ key, newValue }) => {
    if (key === signedIn && newValue !== null && newValue !== reader && !document.querySelector('dialog[open]'))
      tell(newValue);
  });
}
