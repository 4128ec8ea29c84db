/** Puts fixed texts in place of what differs from run to run, such as times and ids, each as long as what it replaces. */
export async function settle(): Promise<void> {
  const sameLength = (text: string) => text.replaceAll(/[A-Za-z0-9]/g, 'x');
  const replacements: readonly (readonly [RegExp, string | ((text: string) => string)])[] = [
    // A checkpoint: the log of each run has another key, and takes documents in another order.
    [/reeltally\.local\/\w+\s+\d+\s+\S{44}/g, `reeltally.local/12345678\n12\n${'x'.repeat(43)}=`],
    [/\b(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat) (?=\d{4}-\d\d-\d\d)/g, 'Wed '],
    [/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, '2027-02-24 10:15 UTC'],
    [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, '2027-02-24 10:15:30 UTC'],
    [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}/g, '2027-02-24 10:15:30.250'],
    [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2027-02-24T10:15:30.250Z'],
    [/(?<=\b(?:acc|key|per|wrk|rtk|stf)_)\w+/g, sameLength],
    [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b/g, sameLength],
    [/\b(?:INV|CN)-[\w-]+/g, sameLength],
    [/(?<![\w-])[\w-]{30,}/g, (text) => 'x'.repeat(text.length)],
    [/127\.0\.0\.1:\d+/g, '127.0.0.1:8080'],
    [/localhost:\d+/g, 'localhost:8090'],
    [/\b\d+\.\d{3} s\b|\b\d+ min \d+ s\b|\b(?:\d+ h \d+ min|\d+ days)(?= later)/g, '0.250 s'],
    [/\b\d+ h \d+ min\b/g, '23 h 59 min'],
    // Mails are events too, and come before or after others of their stream.
    [/(?<=\bevent )\d+(?= of )/gi, '9'],
    [/\b\d+(?= days old)/g, '90'],
    [/(?<=\ba worker on )[\w.-]+/g, 'vm'],
    [/\b\d+(?= of 500\b)/g, '12'],
    [/\b\d+(?= times in the past hour)/g, '12'],
  ];
  const settled = (text: string) =>
    replacements.reduce((sum, [found, put]) => sum.replaceAll(found, put as string), text);
  // A copy, which nothing updates any more.
  for (const live of document.querySelectorAll<HTMLElement>('[data-live]')) {
    const copy = live.cloneNode() as HTMLElement;
    copy.textContent = 'running';
    live.replaceWith(copy);
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const text = node.nodeValue ?? '';
    if (settled(text) !== text) node.nodeValue = settled(text);
  }
  // How long things took, drawn.
  for (const [index, gap] of document.querySelectorAll('svg.gap').entries())
    gap.setAttribute('height', String(12 * (1 + (index % 3))));
  for (const [index, span] of document.querySelectorAll('svg.spans rect').entries()) {
    span.setAttribute('x', index === 0 ? '0%' : '10%');
    span.setAttribute('width', index === 0 ? '10%' : '90%');
  }
  for (const input of document.querySelectorAll('input')) {
    if (input.type !== 'hidden' && settled(input.value) !== input.value) input.value = settled(input.value);
  }
  // The course of the day, of which every run has another.
  for (const drawn of document.querySelectorAll<HTMLElement>('[data-plot*=\'"by":"hour"\'] canvas'))
    drawn.style.visibility = 'hidden';
  const [first, ...others] = document.querySelectorAll('[aria-label$="by the hour"] tbody tr');
  for (const row of others) row.remove();
  for (const [index, cell] of first?.querySelectorAll('td').entries() ?? [])
    cell.textContent = index === 0 ? '12' : '0.5 s';
  // A bar that waits goes to and fro, and not by an animation of ours.
  for (const bar of document.querySelectorAll('progress')) if (bar.position === -1) bar.value = bar.max / 2;
  // An earlier look went through the page by the keyboard.
  scrollTo(0, 0);
  for (const table of document.querySelectorAll('.scroll')) table.scrollLeft = 0;
  // Made anew: Chromium leaves a choice as narrow as it was drawn while the text of its longest option was still on its way, and
  // draws the letters of what sticks to a place by where they stood at another width.
  for (const each of document.querySelectorAll<HTMLElement>('select, .menu')) {
    each.style.display = 'none';
    each.getBoundingClientRect();
    each.style.display = '';
  }
  await document.fonts.ready;
  // Plots are drawn anew after the frame in which their width has changed.
  for (let frame = 0; frame < 3; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
}
