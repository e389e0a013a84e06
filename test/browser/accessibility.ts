import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { layoutFaults } from './layout-faults.ts';

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly help: string;
    readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[];
  }[];
}

/**
 * The serious and critical faults that axe finds, each with where it is. Axe is run from outside, so the page's own policy
 * stays.
 *
 * @param rule - looks for this one only
 */
async function accessibilityFaults(page: Page, rule?: 'color-contrast'): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(axe.source);
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rule !== undefined && { runOnly: [rule] }) });
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.slice(0, 5).map(({ target, failureSummary = '' }) => {
        return `${id} (${help}) at ${target.join(' ')}: ${failureSummary.replaceAll(/\s+/g, ' ')}`;
      }),
    );
}

/** What is wrong with how a page looks at some widths, light and dark; the width that it has comes first. */
export async function looksFaults(page: Page, ...widths: readonly number[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const has = page.viewportSize()?.width ?? 0;
  for (const width of widths.toSorted((one, other) => Math.abs(one - has) - Math.abs(other - has))) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
    const light = [...(await layoutFaults(page)), ...(await accessibilityFaults(page))];
    // Whatever else axe looks for is the same in the dark.
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = (await accessibilityFaults(page, 'color-contrast')).map((fault) => `dark: ${fault}`);
    faults.push(...[...light, ...dark].map((fault) => `${new URL(page.url()).pathname} at ${width} px: ${fault}`));
  }
  return faults;
}
