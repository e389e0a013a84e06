import { expect, test, vi } from 'vitest';
import type { Operations } from '../../../src/inbox/operator/operations.ts';
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
  expect(textOf(all)).toContain('The latest 100 lines, of 200 deliveries. There are more.');
  expect(all.match(/<tr id=/g)).toHaveLength(100);
  expect(asked).toHaveBeenLastCalledWith(101);
  const one = await shown('?range=7d&reason=overloaded');
  expect(textOf(one)).toMatch(/^The latest Only overloaded\. All reasons 100 deliveries in 50 lines\./);
  expect(tagsOf(one).find(({ name }) => name === 'a')?.attributes['href']).toBe('?range=7d#latest');
  expect(textOf(await shown('?reason=%3Cb%3E'))).toBe(
    'The latest Only <b>. All reasons No delivery that was rejected for this is kept.',
  );
});
