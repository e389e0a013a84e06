import { countFound } from '../../../operator/finding/count-found.ts';
import { findPage, indexSome, type Searched } from '../../../operator/finding/find-page.ts';
import { namesBeginning } from '../../../operator/finding/names-beginning.ts';
import type { Search } from '../../../operator/search.ts';
import type { Access } from '../access.ts';
import { bodyText } from './body-text.ts';
import { deadGroups } from './dead-groups.ts';
import { fittingRows } from './fitting-rows.ts';
import { indexNew } from './search-words.ts';
import { searchTables } from './sources.ts';
import { lastErrorOf, summaryOf, summaryOfKey, type SummaryRow } from './summary.ts';

export function search(access: Access): Search {
  const engine = searched(access);
  return {
    search: (filter, page) => findPage(engine, filter, page),
    countFound: (filter, request) => countFound(engine, filter, request),
    async namesLike(...given) {
      await indexSome(engine);
      return engine.look((tables) => namesBeginning(tables, ...given));
    },
    summary: async (key) => summaryOfKey(access.database(), key),
    deadGroups: ({ signal } = {}) => deadGroups(access, signal),
    indexNew: engine.indexNew,
  };
}

/** The connection is taken anew each time, because the inbox may open the file again. */
function searched(access: Access): Searched<SummaryRow> {
  const tables = searchTables(() => access.database());
  return {
    indexNew: (...given) => indexNew(access, ...given),
    look: (decide) => decide(tables),
    fitting: (...given) => ({
      rows: fittingRows(access.database(), ...given),
      lastError: ({ seq }) => lastErrorOf(access.database(), seq),
      bodyText: ({ seq }) => bodyText(access.database(), 'hookbox_events', seq),
    }),
    summaries: (rows) => rows.map((row) => summaryOf(access.database(), row)),
  };
}
