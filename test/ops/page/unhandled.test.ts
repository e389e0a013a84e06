import { describe, expect, test } from 'vitest';
import type { IgnoredType, UnhandledType } from '../../../src/inbox/work.ts';
import { healthScreen } from '../../../src/page/screens/health-screen.tsx';
import { overviewScreen } from '../../../src/page/screens/overview-screen.tsx';
import { partOf, tagsOf, textOf, textIn } from './read-html.ts';
import { ago, htmlOf, stubVisit } from './stub-visit.ts';

const missed: UnhandledType = { endpoint: 'shop-a', type: 'order.created', count: 12, more: false, since: ago(40) };
const putAway: IgnoredType = { endpoint: 'shop-a', type: 'order.ready', count: 3, more: true, handled: true };
const WEEK_AGO = /ignoredSince=20\d\d-\d\d-\d\dT/;

describe.each([
  [
    'the overview',
    overviewScreen,
    'headline',
    /No processor for order\.created at shop-a has run since .*40 min.*: 12 events are waiting/,
    /Events of order\.ready at shop-a were ignored in the last seven days\. .*3\+ ignored/,
  ],
  [
    'the health screen',
    healthScreen,
    'unhandled',
    /No processor for order\.created at shop-a has run since .*40 min.*: 12 pending/,
    /3\+ events of order\.ready at shop-a were ignored in the last seven days.*hookbox events rerun --endpoint shop-a --type order\.ready --ignored-since \S+Z/,
  ],
] as const)('%s', (_, screen, where, waits, ignored) => {
  test('says nothing where everything is handled', async () => {
    const idle = { ignoredSince: async () => [{ ...putAway, handled: false }] };
    expect(await htmlOf(await screen(stubVisit({}, { handling: idle })))).not.toContain('id="unhandled"');
  });

  test('says what no processor handles since when, and offers to rerun what was ignored before somebody did', async () => {
    const handling = { unhandled: async () => [missed], ignoredSince: async () => [putAway] };
    const html = await htmlOf(await screen(stubVisit({}, { handling })));
    const told = partOf(html, where);
    expect(textOf(told)).toMatch(waits);
    const part = screen === overviewScreen ? told : partOf(html, 'unhandled');
    expect(textOf(part)).toMatch(ignored);
    const linksIn = (html: string) =>
      tagsOf(html).flatMap(({ name, attributes }) => (name === 'a' ? (attributes['href'] ?? []) : []));
    const rerun = linksIn(part).at(-1);
    expect(linksIn(told)[0]).toBe('/ops/events?endpoint=shop-a&type=order.created&state=pending');
    expect(rerun).toMatch(/^\/ops\/events\?endpoint=shop-a&type=order\.ready&/);
    expect(rerun).toMatch(WEEK_AGO);
  });

  test('shows types and endpoints as text, whatever they are', async () => {
    const hostile = { ...missed, type: '<script>alert(1)</script>', endpoint: '"><img src=x>', since: null };
    const html = await htmlOf(await screen(stubVisit({}, { handling: { unhandled: async () => [hostile] } })));
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('<img');
    expect(textIn(html, where)).toContain('No processor has ever run for the endpoint that receives <script>');
  });
});
