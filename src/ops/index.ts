/**
 * What an operator does with stored events, as typed functions. The command `hookbox events` and the page only call these.
 *
 * @module
 */
export { listEvents, getEvent, deadGroups, type EventHistory, type TimelineEntry } from './find.ts';
export { rerunEvents } from './rerun.ts';
export { retryGroups } from './retry-groups.ts';
export { discardEvents } from './discard.ts';
export { hurryEvents } from './hurry.ts';
export {
  previewBulk,
  runBulk,
  cancelBulk,
  getBulk,
  listBulks,
  type PreviewOptions,
  type RunBulkOptions,
} from './bulks.ts';
export { pruneEvents, type PruneOptions, type PruneReport } from './prune.ts';
export { eraseEntity } from './erase.ts';
export { exportEvents, type ExportOptions } from './export.ts';
export { importEvents, type ImportOptions, type ImportReport } from './import.ts';
export { backup, type BackupReport } from './backup.ts';
export {
  stats,
  rejectedDeliveries,
  type Percentiles,
  type Stats,
  type StatsOptions,
  type StatsStep,
  type Totals,
  type TypeTotals,
} from './stats.ts';
export type { Unhandled } from './unhandled.ts';
export type { IgnoredType, TypeCount, UnhandledType } from '../inbox/work.ts';
export { auditLines } from './audit.ts';
export { readiness, type Readiness } from './health.ts';
export { metrics, type Metrics } from './metrics.ts';
export type { Act, ActCounts, ActOptions, ActReport, ActResult, Bulk, By } from '../inbox/operator/acts.ts';
export type { AuditLine, AuditPage } from '../inbox/operator/audit.ts';
export type { Gauge, Gauges, RejectedDelivery, Rejection } from '../inbox/operator/counts.ts';
export type { EventFilter, PageRequest, PayloadCondition } from '../inbox/operator/filter.ts';
export type { EraseOptions, EraseProgress, EraseReport, PruneCriteria } from '../inbox/operator/removal.ts';
export type { DeadGroup, EventPage, EventSummary, RetryGroup, SearchRequest } from '../inbox/operator/search.ts';
export type { ImportCounts } from '../inbox/operator/transfer.ts';
export type { Operations } from '../inbox/operator/operations.ts';
