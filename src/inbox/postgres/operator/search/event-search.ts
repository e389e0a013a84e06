import { assertFilter } from '../../../operator/check-filter.ts';
import { countFound } from '../../../operator/finding/count-found.ts';
import { findPage, indexSome, type Searched } from '../../../operator/finding/find-page.ts';
import { namesBeginning } from '../../../operator/finding/names-beginning.ts';
import type { EventFilter } from '../../../operator/filter.ts';
import type { Search } from '../../../operator/search.ts';
import type { DatabaseTime } from '../../database-time.ts';
import type { Access } from '../access.ts';
import { BodiesInTurn } from './bodies-in-turn.ts';
import { fittingRows, type FittingRow } from './fitting-rows.ts';
import { indexNew } from './search-words.ts';
import { searchTables } from './sources.ts';
import { summariesOf, summaryOfKey } from './summary.ts';

export function search(access: Access): Omit<Search, 'deadGroups'> {
  const { store, ask } = access;
  const { database, time } = store;
  const engine = searched(access);
  /** A search ends between two of its statements when its visitor has gone. */
  const seek = <T>(
    filter: EventFilter,
    signal: AbortSignal | undefined,
    find: (engine: Searched<FittingRow>, filter: EventFilter) => Promise<T>,
  ): Promise<T> =>
    ask(async () => {
      assertFilter(filter);
      const until = database.until(signal);
      await until.alone((session) => time.follow(session));
      return find(searched({ ...access, store: { ...store, database: until } }), inDatabaseTime(filter, time));
    });
  return {
    search: (filter, page) => seek(filter, page.signal, (engine, found) => findPage(engine, found, page)),
    countFound: (filter, request) =>
      seek(filter, request.signal, (engine, found) => countFound(engine, found, request)),
    namesLike(...given) {
      return ask(async () => {
        await indexSome(engine);
        return engine.look((tables) => namesBeginning(tables, ...given));
      });
    },
    summary: (key) =>
      ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          return summaryOfKey(session, store, key);
        }),
      ),
    indexNew: engine.indexNew,
  };
}

/** A connection is held for a few statements, and not while the search rests. */
function searched({ store, ask }: Access): Searched<FittingRow> {
  const { database, t } = store;
  return {
    indexNew: (...given) => ask(() => indexNew(store, ...given)),
    look: (decide) => database.read((session) => decide(searchTables(session, t))),
    async fitting(conditions, seqs, indexed) {
      const rows = await database.read((session) => fittingRows(session, t, conditions, seqs, indexed));
      const inTurn = seqs.flatMap((seq) => rows.get(seq) ?? []);
      const bodies = new BodiesInTurn(t, inTurn);
      return {
        rows,
        lastError: (row) => row.lastError,
        bodyText: ({ seq }) => bodies.text(seq, (work) => database.read(work)),
      };
    },
    summaries: (rows) =>
      rows.length === 0
        ? []
        : database.read((session) =>
            summariesOf(
              session,
              store,
              rows.map(({ seq }) => seq),
            ),
          ),
  };
}

/** Events have the times of the database. */
function inDatabaseTime(filter: EventFilter, time: Pick<DatabaseTime, 'toDatabase'>): EventFilter {
  const at = (date: Date): Date => new Date(time.toDatabase(date.getTime()));
  const { since, until, failedSince, failedUntil, ignoredSince } = filter;
  return {
    ...filter,
    ...(since !== undefined && { since: at(since) }),
    ...(until !== undefined && { until: at(until) }),
    ...(failedSince !== undefined && { failedSince: at(failedSince) }),
    ...(failedUntil !== undefined && { failedUntil: at(failedUntil) }),
    ...(ignoredSince !== undefined && { ignoredSince: at(ignoredSince) }),
  };
}
