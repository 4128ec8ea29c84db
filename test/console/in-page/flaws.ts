/**
 * What no rule of axe looks at: whether the page can be scrolled to the side, whether anything is cut off or lies outside, whether
 * a paragraph is empty, and whether each thing that takes the focus shows it.
 *
 * @returns sentences; none for a page that is as it should be
 */
export async function flaws(): Promise<string[]> {
  const { scrollWidth, clientWidth } = document.documentElement;
  const found = scrollWidth > clientWidth ? [`it is ${String(scrollWidth - clientWidth)} px too wide`] : [];
  // The end of a paragraph that was opened around a list or a table.
  for (const paragraph of document.querySelectorAll('p:empty'))
    found.push(`an empty paragraph in <${paragraph.parentElement?.outerHTML.slice(0, 60) ?? ''}`);
  const focused = document.activeElement;
  const openDialog = document.querySelector('dialog[open]');
  const focusable = (openDialog ?? document).querySelectorAll<HTMLElement>(
    'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]',
  );
  for (const element of focusable) {
    if (!element.checkVisibility()) continue;
    element.focus({ focusVisible: true });
    const name = `<${element.tagName.toLowerCase()}> ${element.textContent.trim().slice(0, 40)}`;
    if (document.activeElement !== element) {
      found.push(`${name} does not take the focus`);
      continue;
    }
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    if (outlineStyle === 'none' || Number.parseFloat(outlineWidth) < 2) found.push(`${name} does not show its focus`);
  }
  // The next picture shows the page as this one has found it.
  if (focused instanceof HTMLElement && focused !== document.body) focused.focus({ focusVisible: true });
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  return found;
}
