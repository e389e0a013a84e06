import type { Locator, Page } from 'playwright-core';

export interface CountedActions {
  readonly click: (target: Locator) => Promise<void>;
  readonly write: (text: string) => Promise<void>;
  readonly press: (key: string) => Promise<void>;
  readonly count: () => number;
}

export function countedActions(page: Page): CountedActions {
  let count = 0;
  return {
    async click(target) {
      await target.waitFor();
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
