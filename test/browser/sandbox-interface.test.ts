// @module-tag long
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { expect, onTestFinished, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { openBrowser } from './browser.ts';
import { looksFaults } from './accessibility.ts';

test('the page of the interface reads well without JavaScript: at a desk and on a phone, light and dark', async () => {
  await using sandbox = createSandbox();
  const server = serve({ fetch: sandbox.fetch, port: 0, hostname: '127.0.0.1' });
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  const refused: string[] = [];
  page.on('console', (message) => refused.push(message.text()));
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/interface`);
  for (const details of await page.locator('details').all())
    await details.evaluate((one) => one.setAttribute('open', ''));
  expect(await looksFaults(page, 1280, 375)).toEqual([]);
  expect(refused).toEqual([]);

  const plain = await browser.newPage({ javaScriptEnabled: false });
  await plain.goto(page.url());
  await plain.getByRole('link', { name: 'Submit Order' }).click();
  expect(plain.url()).toMatch(/#submitOrder$/);
  await plain.locator('#submitOrder').getByRole('link', { name: 'A11' }).first().click();
  expect(await plain.locator('#A11').isVisible()).toBe(true);
});
