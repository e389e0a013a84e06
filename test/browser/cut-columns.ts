import type { Page } from 'playwright-core';

/** What of a text has to be seen, however narrow its column is: some eight letters, or all of a shorter one. */
const LEAST_PX = 64;
const ELLIPSIS_PX = 12;

/**
 * Runs in the page. Which cells of its lists lie outside of the page, and which of their texts are cut to next to nothing, or
 * cut where nothing says the whole.
 */
const FIND = String.raw`(() => {
  const faults = new Set();
  const main = document.querySelector('main').getBoundingClientRect();
  const unseen = (element) => element !== null && (element.getBoundingClientRect().width <= 1 || unseen(element.parentElement));
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && !unseen(element);
  const seenOf = (range, element, cell) => {
    let { left, right } = range.getBoundingClientRect();
    let inner = element;
    for (let box = element; box !== cell.parentElement; inner = box, box = box.parentElement) {
      const { overflowX, textOverflow } = getComputedStyle(box);
      if (overflowX === 'visible') continue;
      const rect = box.getBoundingClientRect();
      // An ellipsis stands for the whole of a box that is in the line.
      if (textOverflow === 'ellipsis' && /^inline-/.test(getComputedStyle(inner).display) && inner.getBoundingClientRect().right > rect.right + 1) return 0;
      left = Math.max(left, rect.left);
      right = Math.min(right, rect.right);
    }
    return Math.max(0, right - left);
  };
  for (const table of document.querySelectorAll('table.list')) {
    for (const cell of table.querySelectorAll('th, td')) {
      if (!isSeen(cell)) continue;
      const column = (table.id || table.closest('[id]').id) + '/' + (cell.dataset.col ?? cell.dataset.label ?? cell.textContent.trim());
      const box = cell.getBoundingClientRect();
      const scrolls = /auto|scroll/.test(getComputedStyle(table).overflowX);
      if (!scrolls && (box.left < main.left - 1 || box.right > main.right + 1)) faults.add(column + ': lies outside of the page');
      const texts = new Map();
      const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const text = walk.currentNode;
        const element = text.parentElement;
        if (text.data.trim() === '' || !isSeen(element) || element.closest('button, .unseen')) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        // Where a word is as long as words are, no line ends within it.
        for (const { index, 0: { length } } of text.data.matchAll(/[\p{L}\p{N}.,:]{1,18}(?![\p{L}\p{N}.,:_/@-])/gu)) {
          if (index > 0 && /[\p{L}\p{N}.,:_/@-]/u.test(text.data[index - 1])) continue;
          const word = document.createRange();
          word.setStart(text, index);
          word.setEnd(text, index + length);
          const at = [...word.getClientRects()].map(({ top }) => top);
          if (Math.max(...at) - Math.min(...at) > 8) faults.add(column + ': a word is broken: ' + word.toString());
        }
        const tops = [...range.getClientRects()].map(({ top }) => top);
        if (Math.max(...tops) - Math.min(...tops) > 8) continue;
        // What tells a name apart is its end: of its beginning nothing need be seen.
        if (element.matches('.name > :first-child:not(:last-child)')) continue;
        const unit = element;
        const known = texts.get(unit) ?? { full: 0, seen: 0 };
        known.full += range.getBoundingClientRect().width;
        known.seen += seenOf(range, element, cell);
        texts.set(unit, known);
      }
      for (const [unit, { full, seen }] of texts) {
        if (seen >= full - 1.5) continue;
        const what = column + ': ' + JSON.stringify(unit.textContent.trim().slice(0, 40)) + ' ' + Math.round(seen) + ' of ' + Math.round(full);
        const least = unit.matches('.end, .brief > bdi') ? full : Math.min(full - 1.5, ${LEAST_PX});
        if (seen - ${ELLIPSIS_PX} < least) faults.add(what + ' px');
        else if (unit.closest('[title]') === null) faults.add(what + ' px, and nothing says the whole');
      }
    }
  }
  return [...faults];
})()`;

export async function cutColumns(page: Page, width: number): Promise<readonly string[]> {
  await page.setViewportSize({ width, height: 900 });
  return (await page.evaluate<string[]>(FIND)).map((fault) => `at ${width} px: ${fault}`);
}
