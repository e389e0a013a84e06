import { expect, test, vi } from 'vitest';
import type { Operations } from '../../../src/inbox/contract.ts';
import { rejectedScreen } from '../../../src/page/screens/rejected-screen.tsx';
import { partOf, tagsOf, textOf } from './read-html.ts';
import { ago, htmlOf, stubVisit } from './stub-visit.ts';

test('lists one reason alone, for whoever asks for it, and says so where there is none', async () => {
  const rejections = Array.from({ length: 150 }, (_, n) => ({
    seq: n + 1,
    endpoint: 'default',
    bytes: 812,
    sha256: null,
    source: null,
    firstAt: ago(n),
    lastAt: ago(n),
    reason: n % 3 === 0 ? 'overloaded' : 'signature-missing',
    count: 2,
  }));
  const asked = vi.fn<Operations['rejected']>(async (limit) => rejections.slice(0, limit));
  const shown = async (query: string) =>
    partOf(await htmlOf(await rejectedScreen(stubVisit({ rejected: asked }, { path: `/rejected${query}` }))), 'latest');
  const all = await shown('');
  expect(textOf(all)).toContain('The latest 100 lines, for 200 deliveries. Older lines exist.');
  expect(all.match(/<tr id=/g)).toHaveLength(100);
  expect(asked).toHaveBeenLastCalledWith(1_000);
  const lastHour = textOf(await shown('?range=1h'));
  expect(Number(/ in (\d+) lines/.exec(lastHour)?.[1])).toBeLessThan(70);
  const one = await shown('?range=7d&reason=overloaded');
  expect(textOf(one)).toMatch(
    /^Latest rejected deliveries Only deliveries rejected for overloaded\. All reasons 100 deliveries in 50 lines\./,
  );
  expect(tagsOf(one).find(({ name }) => name === 'a')?.attributes['href']).toBe('?range=7d#latest');
  expect(textOf(await shown('?reason=%3Cb%3E'))).toBe(
    'Latest rejected deliveries Only deliveries rejected for <b>. All reasons No deliveries were rejected for this reason in this period.',
  );
});

test('another span keeps the reason that was chosen, also one that is no reason', async () => {
  const spans = async (query: string) => {
    const html = await htmlOf(await rejectedScreen(stubVisit({}, { path: `/rejected${query}` })));
    const [nav = ''] = /<nav class="ranges".*?<\/nav>/s.exec(html) ?? [];
    return tagsOf(nav).flatMap(({ attributes }) => attributes['href'] ?? []);
  };
  expect(await spans('?range=7d&reason=overloaded')).toEqual(
    ['1h', '24h', '7d', '30d'].map((range) => `?range=${range}&reason=overloaded`),
  );
  expect((await spans('?reason=%22%3E%26range%3D1h'))[1]).toBe('?range=24h&reason=%22%3E%26range%3D1h');
  expect(await spans('?range=7d')).toEqual(['?range=1h', '?range=24h', '?range=7d', '?range=30d']);
});
