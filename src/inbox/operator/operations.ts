import type { Operations } from '../contract.ts';
import type { Waits } from '../rules/waiting.ts';
import { acknowledging } from './acknowledging.ts';
import { actsOnEvents } from './acts-on-events.ts';
import { audit } from './audit.ts';
import { bulks } from './bulks.ts';
import { counts, type CountEngine } from './counts.ts';
import { erasing, type ErasingEngine } from './erasing.ts';
import { exporting } from './export.ts';
import { search as searchOf, type SearchEngine } from './finding/find-page.ts';
import { importing } from './importing.ts';
import { marks } from './marks.ts';
import { pauses } from './pauses.ts';
import { pruning, type PruningEngine } from './pruning.ts';
import type { OperatorTables } from './sql.ts';

export function operationsOn(
  tables: OperatorTables,
  engine: {
    readonly search: SearchEngine;
    readonly waits: Waits;
    readonly pruning: PruningEngine;
    readonly erasing: ErasingEngine;
    /** its transactions overwrite deleted bytes */
    readonly erasingTables: OperatorTables;
    readonly counts: CountEngine;
  },
): Omit<Operations, 'bytes' | 'backup'> {
  const search = searchOf(tables, engine.search);
  return {
    ...search,
    ...engine.waits,
    ...actsOnEvents(tables),
    ...bulks(tables),
    ...pauses(tables),
    ...acknowledging(tables),
    ...audit(tables),
    ...pruning(tables, engine.pruning),
    ...erasing(engine.erasingTables, engine.erasing),
    ...exporting(tables, (...given) => search.search(...given)),
    ...importing(tables),
    ...counts(tables, engine.counts),
    ...marks(tables),
  };
}
