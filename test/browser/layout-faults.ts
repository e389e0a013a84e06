import type { Page } from 'playwright-core';

/**
 * Runs in the page. Whether something is wider than its window, be it that the page scrolls sideways or that the end of it is
 * cut off; which part of a toolbar is over the title; and which row of a list is as high as two windows. Menus are measured
 * open. What scrolls by itself may be wide; and a letter with a hundred marks, between which no line breaks, has to be cut.
 */
const FIND = String.raw`(() => {
  const closed = [...document.querySelectorAll('details.menu:not([open])')];
  for (const menu of closed) menu.open = true;
  const { scrollWidth, clientWidth } = document.documentElement;
  const faults = [];
  const name = (element) => {
    const classes = typeof element.className === 'string' ? element.className.trim() : '';
    return element.tagName.toLowerCase() + (element.id && '#' + element.id) + (classes && '.' + classes.replaceAll(/\s+/g, '.'));
  };
  const scrolls = (element) => element !== null && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const unseen = (element) => element !== null && (element.getBoundingClientRect().width <= 1 || unseen(element.parentElement));
  const beyond = [...document.body.querySelectorAll('*')].filter((element) => {
    const { right } = element.getBoundingClientRect();
    if (right <= clientWidth + 1 || /\p{M}{20}/u.test(element.textContent)) return false;
    return !unseen(element) && !scrolls(element.parentElement);
  });
  if (scrollWidth > clientWidth || beyond.length > 0) {
    faults.push(scrollWidth + ' px wide in ' + clientWidth + ': ' + beyond.slice(0, 8).map(name).join(' '));
  }
  const title = document.createRange();
  title.selectNodeContents(document.querySelector('main h1') ?? document.body);
  const over = title.getBoundingClientRect();
  for (const part of document.querySelectorAll('main h1 ~ .toolbar > *, main h1 ~ #live > .toolbar > *')) {
    const { left, right, top, bottom, width } = part.getBoundingClientRect();
    const apart = width === 0 || right <= over.left || left >= over.right || bottom <= over.top || top >= over.bottom;
    if (!apart) faults.push('over the title: ' + name(part));
  }
  for (const row of document.querySelectorAll('table.list tbody tr')) {
    const { height } = row.getBoundingClientRect();
    if (height > 2 * innerHeight) faults.push('a row of ' + Math.round(height) + ' px: ' + name(row));
  }
  for (const menu of closed) menu.open = false;
  return faults;
})()`;

export function layoutFaults(page: Page): Promise<readonly string[]> {
  return page.evaluate<string[]>(FIND);
}
