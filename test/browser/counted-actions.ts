import type { Locator, Page } from 'playwright-core';

/** What somebody does on a page, each counted: a click, a key, a text that is filled in. */
export interface CountedActions {
  readonly click: (target: Locator) => Promise<void>;
  /** where the focus is already, as a text can be written only there */
  readonly write: (text: string) => Promise<void>;
  readonly press: (key: string) => Promise<void>;
  readonly count: () => number;
}

export function countedActions(page: Page): CountedActions {
  let count = 0;
  return {
    async click(target) {
      await target.waitFor();
      // Nobody is quicker than the script of a page that is shown.
      await page.waitForLoadState();
      await target.click();
      count += 1;
    },
    async write(text) {
      await page.locator('input:focus').waitFor();
      await page.keyboard.type(text);
      count += 1;
    },
    async press(key) {
      await page.keyboard.press(key);
      count += 1;
    },
    count: () => count,
  };
}
