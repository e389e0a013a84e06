import { describe, expect, test } from 'vitest';
import type { Operations } from '../../../src/inbox/contract.ts';
import { auditScreen } from '../../../src/page/screens/audit-screen.tsx';
import { bulkScreen, bulksScreen } from '../../../src/page/screens/bulk-screen.tsx';
import { deadEventsScreen } from '../../../src/page/screens/dead-events-screen.tsx';
import { healthScreen } from '../../../src/page/screens/health-screen.tsx';
import { maintenanceScreen } from '../../../src/page/screens/maintenance-screen.tsx';
import { overviewScreen } from '../../../src/page/screens/overview-screen.tsx';
import { rejectedScreen } from '../../../src/page/screens/rejected-screen.tsx';
import type { Screen, Visit } from '../../../src/page/visit.ts';
import { hostileTexts } from '../../browser/hostile-texts.ts';
import { tagsOf, textOf, type Tag } from './read-html.ts';
import { NOW, ago, bulkOf, counting, deadGroup, htmlOf, noGauges, stubVisit, summary } from './stub-visit.ts';
import { pausedScreen } from '../../../src/page/screens/paused-screen.tsx';

const screens: Readonly<Record<string, (visit: Visit, text: string) => Promise<Screen>>> = {
  overview: overviewScreen,
  'dead events': deadEventsScreen,
  rejected: rejectedScreen,
  bulks: bulksScreen,
  bulk: (visit) => bulkScreen(visit, 7),
  audit: auditScreen,
  health: healthScreen,
  maintenance: (visit) => maintenanceScreen(visit),
  paused: (visit) => pausedScreen(visit),
  'a type that was never received': (visit, text) =>
    pausedScreen(visit, { type: text, endpoint: text, reason: text, fault: text }),
  'prune preview': (visit, text) =>
    maintenanceScreen(visit, {
      act: 'prune',
      olderThanDays: 3,
      settledBefore: NOW,
      states: ['dead'],
      types: [text],
      endpoint: text,
      count: 4,
    }),
  'erase preview': (visit, text) =>
    maintenanceScreen(visit, {
      act: 'erase',
      entity: text,
      report: { erased: 2, inProcessing: 0, logEmptied: true, audit: null },
    }),
  problem: (visit, text) => maintenanceScreen(visit, { act: 'problem', message: text }),
};

function filledWith(text: string): Partial<Operations> {
  const lastError = { name: text, message: text };
  const event = summary({ endpoint: text, id: text, type: text, entity: text, failures: 2, attempts: 2, lastError });
  const filter = {
    endpoint: text,
    id: text,
    types: [text],
    entity: text,
    merchant: text,
    error: text,
    fingerprint: text,
    body: [{ path: text, value: text }],
  };
  const bulk = bulkOf({
    filter,
    actor: text,
    reason: text,
    state: 'running',
    startedAt: ago(1),
    worked: 1,
    counts: { done: 1 },
    breakdown: {
      types: Object.fromEntries([[text, 128]]),
      states: { dead: 128 },
      deadReasons: { failed: 128 },
      endpoints: Object.fromEntries([[text, 128]]),
    },
  });
  const at = ago(3).getTime();
  return {
    search: async () => ({ events: [event], next: null, examined: 1 }),
    deadGroups: async () => [deadGroup({ fingerprint: text, sample: lastError, newest: event, oldest: event })],
    gauges: async () => ({
      ...noGauges,
      dead: { count: 12, more: false },
      oldestPending: { endpoint: text, id: text, receivedAt: ago(9), since: ago(9) },
    }),
    ...counting([
      { at, what: 'dead', detail: text, count: 4 },
      { at, what: 'rejected', detail: text, count: 2 },
    ]),
    rejected: async () => [
      {
        seq: 1,
        endpoint: text,
        reason: text,
        bytes: 3,
        sha256: text,
        source: text,
        count: 2,
        firstAt: ago(3),
        lastAt: ago(2),
      },
    ],
    bulk: async () => bulk,
    bulks: async () => [bulk],
    lines: async () => ({
      lines: [
        {
          seq: 1,
          at: ago(1),
          actor: text,
          via: 'page',
          act: text,
          reason: text,
          filter: { ...filter, ids: [text], file: text, more: { [`x${text}`]: text } },
          counts: { [`x${text}`]: 1 },
        },
      ],
      next: null,
    }),
    pausedTypes: async () => [
      { endpoint: text, type: text, actor: text, reason: text, since: ago(9), waiting: 2, more: false },
    ],
    ping: async () => {
      throw new Error(text);
    },
  };
}

const known = new Map<string, Promise<string>>();

/** A screen with a text everywhere, the URL included; each once. */
function rendered(screen: string, text: string): Promise<string> {
  const key = `${screen} ${text}`;
  const html = known.get(key) ?? render(screen, text);
  known.set(key, html);
  return html;
}

async function render(screen: string, text: string): Promise<string> {
  const path = `/?${new URLSearchParams({ range: text, before: text }).toString()}`;
  return htmlOf(await (screens[screen] ?? overviewScreen)(stubVisit(filledWith(text), { path }), text));
}

function shapeOf(tags: readonly Tag[]): readonly string[] {
  return tags.map(({ name, attributes }) => [name, ...Object.keys(attributes)].join(' '));
}

describe.for(Object.keys(screens))('%s', (screen) => {
  test('no text changes anything but texts: elements and attributes are those of a plain one of its length', async () => {
    for (const [what, text] of Object.entries(hostileTexts)) {
      const plain = await rendered(screen, 'p'.repeat(text.length));
      expect(shapeOf(tagsOf(await rendered(screen, text))), what).toEqual(shapeOf(tagsOf(plain)));
    }
  });

  test('has no script, no style and no handler of its own, and leads nowhere else', async () => {
    for (const text of Object.values(hostileTexts)) {
      const tags = tagsOf(await rendered(screen, text));
      const names = new Set(tags.map(({ name }) => name));
      for (const forbidden of ['script', 'style', 'iframe', 'object', 'img', 'base', 'meta', 'link']) {
        expect(names).not.toContain(forbidden);
      }
      for (const { attributes } of tags) {
        for (const [name, value] of Object.entries(attributes)) {
          expect(name).not.toMatch(/^(?:on|style$|src|srcdoc$|formaction$)/);
          if (['href', 'action', 'data-href'].includes(name)) expect(value).toMatch(/^(?:\/ops(?:[/?]|$)|\?|#icon-)/);
          if (name === 'href') expect(new URL(value, 'http://a/ops/x').pathname).toMatch(/^\/ops\//);
        }
      }
    }
  });

  test('does not let a text turn its neighbours around or begin a line', async () => {
    for (const text of Object.values(hostileTexts)) {
      expect(textOf(await rendered(screen, text))).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
    }
  });

  test('gives every element an id of its own', async () => {
    const ids = tagsOf(await rendered(screen, 'plain')).flatMap(({ attributes }) => attributes['id'] ?? []);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('what labels and descriptions point to is there', async () => {
    const tags = tagsOf(await rendered(screen, 'plain'));
    const ids = new Set(tags.map(({ attributes }) => attributes['id']));
    for (const { attributes } of tags) {
      for (const name of ['aria-labelledby', 'aria-describedby', 'for']) {
        if (attributes[name] !== undefined) expect(ids).toContain(attributes[name]);
      }
    }
  });

  test('has no form for a viewer but that of a filter', async () => {
    const visit = stubVisit(filledWith('plain'), { role: 'viewer' });
    const html = await htmlOf(await (screens[screen] ?? overviewScreen)(visit, 'plain'));
    const tags = tagsOf(html);
    const filters = ['audit', 'overview', 'rejected'].includes(screen) ? ['get'] : [];
    expect(tags.flatMap(({ name, attributes }) => (name === 'form' ? [attributes['method']] : []))).toEqual(filters);
    expect(tags.filter(({ name }) => name === 'button')).toHaveLength(filters.length);
    expect(html).not.toContain('token-of-ada');
    expect(html).not.toContain('/maintenance/export');
  });

  test('works where the page is mounted at the root', async () => {
    const visit = stubVisit(filledWith('plain'), { base: '' });
    const html = await htmlOf(await (screens[screen] ?? overviewScreen)(visit, 'plain'));
    for (const { attributes } of tagsOf(html)) {
      for (const name of ['href', 'action', 'data-href']) {
        if (attributes[name] !== undefined) expect(attributes[name]).toMatch(/^(?:\/(?!\/)|\?|#icon-)/);
      }
    }
  });
});
