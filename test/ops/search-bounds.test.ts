import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Access } from '../../src/inbox/sqlite/operator/access.ts';
import { operatorTables } from '../../src/inbox/sqlite/operator/tables.ts';
import { counts } from '../../src/inbox/operator/counts.ts';
import { countEngine } from '../../src/inbox/sqlite/operator/counts.ts';
import { sqliteOperations } from '../../src/inbox/sqlite/operator/operations.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { exportEvents, previewBulk, stats } from '../../src/ops/index.ts';
import { severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { openedPage } from './page/opened-page.ts';
import { partOf, textOf } from './page/read-html.ts';
import { plantDead } from './events-in-states.ts';
import {
  clockThatRuns,
  conditions,
  storeLarge,
  testSearchBounds,
  TOO_MUCH,
  turnsOf,
} from './search-bounds.conformance.ts';
import { searchedFile } from './searched-store.ts';

let database: ReturnType<typeof merchantDatabase>;
let inbox: Inbox;
beforeEach(() => {
  database = merchantDatabase();
  inbox = sqliteInbox({ database });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await inbox.close();
});

async function linesOf(lines: AsyncIterable<string>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

function queryOf(field: string, values: readonly string[]): string {
  return new URLSearchParams(values.map((value): [string, string] => [field, value])).toString();
}

describe('a filter that asks for too much', () => {
  it.each(TOO_MUCH)('is refused by what acts on many as well: %s', async (_, filter, said) => {
    const refused = {
      name: 'ConfigurationError',
      code: 'INVALID_OPTION',
      message: expect.stringMatching(said) as unknown,
    };
    await expect(linesOf(exportEvents(inbox, { actor: 'ada' }, filter))).rejects.toMatchObject(refused);
    await expect(previewBulk(inbox, 'rerun', filter, { actor: 'ada' })).rejects.toMatchObject(refused);
  });

  it('is refused by the page in the same words, and nothing is looked at', async () => {
    const { inbox: shown, html } = openedPage();
    const looked = vi.spyOn(shown.operations ?? {}, 'search' as never);
    const nine = conditions(9).map(({ path, value }) => `${path}=${value}`);
    const page = await html(`/events?${queryOf('body', nine)}`);
    expect(textOf(partOf(page, 'problems'))).toContain('The filter condition body must have at most 8 values, not 9.');
    const types = Array.from({ length: 101 }, (_, n) => `t${n}`);
    const other = await html(`/events?${queryOf('type', types)}`);
    expect(textOf(partOf(other, 'problems'))).toContain(
      'The filter condition types must have at most 100 values, not 101.',
    );
    expect(looked).not.toHaveBeenCalled();
  });

  it('is told what is wrong ten times at most', async () => {
    const { html } = openedPage();
    const wrong = Array.from({ length: 500 }, (_, n) => `s${n}`);
    const page = await html(`/events?${queryOf('state', wrong)}`);
    expect(partOf(page, 'problems').match(/<li/g)).toHaveLength(10);
  });
});

testSearchBounds('a search in SQLite', searchedFile);

describe('deliveries have their turn', () => {
  it('between any two slices, however many search at once', async () => {
    for (let n = 0; n < 30; n += 1) await storeLarge(inbox, `evt_${n}`, 100);
    clockThatRuns(11);
    let turn = 0;
    const looking = new Map<number, Set<number>>();
    const searches = Array.from({ length: 20 }, (_, number) => {
      const access: Access = {
        database() {
          looking.set(turn, (looking.get(turn) ?? new Set()).add(number));
          return database;
        },
        write: () => Promise.reject(new Error('not needed')),
        alone: async (work) => work(database),
        notify() {},
      };
      return sqliteOperations(access).search({ body: conditions(8) }, {});
    });
    let over = false;
    const next = (): void => {
      turn += 1;
      if (!over) setImmediate(next);
    };
    setImmediate(next);
    const pages = await Promise.all(searches).finally(() => (over = true));
    for (const { events } of pages) expect(events).toHaveLength(30);
    // The turn is counted at one point of it, so two that follow one another may seem to be one.
    expect(Math.max(...Array.from(looking.values(), ({ size }) => size))).toBeLessThanOrEqual(2);
  });

  it('between any two steps of what was counted, however many ask at once', async () => {
    clockThatRuns(11);
    let turn = 0;
    const sums = new Map<number, number>();
    const operations = operationsOf(inbox);
    const access: Access = {
      database() {
        sums.set(turn, (sums.get(turn) ?? 0) + 1);
        return database;
      },
      write: () => Promise.reject(new Error('not needed')),
      alone: async (work) => work(database),
      notify() {},
    };
    const looked = counts(operatorTables(access), countEngine(access));
    const totalsIn: typeof operations.totalsIn = (spans) => looked.totalsIn(spans);
    const counted: Inbox = { ...inbox, operations: { ...operations, totalsIn } };
    let over = false;
    const next = (): void => {
      turn += 1;
      if (!over) setImmediate(next);
    };
    setImmediate(next);
    await Promise.all(Array.from({ length: 20 }, () => stats(counted, { steps: 10 }))).finally(() => (over = true));
    expect(Math.max(...sums.values())).toBeLessThanOrEqual(2);
    expect(Array.from(sums.values()).reduce((a, b) => a + b, 0)).toBe(200);
  });

  it('while groups of dead events are put together', async () => {
    plantDead(database, ...severalIncoming(400));
    database.exec("UPDATE hookbox_events SET fingerprint = printf('%016x', seq) WHERE state = 'dead'");
    clockThatRuns(11);
    const { turns, result } = await turnsOf(inbox.operations?.deadGroups() ?? Promise.resolve([]));
    expect(result).toHaveLength(200);
    expect(turns).toBeGreaterThanOrEqual(500);
  });
});
