/**
 * Functions with which operators inspect and change stored events. The command `hookbox events` and the operators' page
 * call these functions.
 *
 * @module
 */
export {
  listEvents,
  countEvents,
  getEvent,
  deadGroups,
  type CountOptions,
  type EventHistory,
  type TimelineEntry,
} from './find.ts';
export { findEvents, type FindPlace, type FindRequest, type FoundEvents, type Suggestion } from './find-by-text.ts';
export { whyWaiting } from './why-waiting.ts';
export { rerunEvents } from './rerun.ts';
export { retryGroups } from './retry-groups.ts';
export { discardEvents } from './discard.ts';
export { retryEventsNow } from './retry-events-now.ts';
export {
  previewBulk,
  runBulk,
  cancelBulk,
  getBulk,
  listBulks,
  type PreviewOptions,
  type RunBulkOptions,
} from './bulks.ts';
export { bulkOutcome, type BulkOutcome, type BulkOutcomeOptions } from './bulk-outcome.ts';
export { pauseType, pausedTypes, resumeType, type PauseOptions, type PauseTypeOptions } from './pauses.ts';
export { pruneEvents, type PruneOptions, type PruneReport } from './prune.ts';
export { eraseEntity } from './erase.ts';
export { exportEvents, type ExportOptions } from './export.ts';
export { exportReadable } from './readable-export.ts';
export type { ReadableFormat } from './words/readable-formats.ts';
export { importEvents, type ImportOptions, type ImportReport } from './import.ts';
export { importHandled, type ImportHandledOptions, type ImportHandledReport } from './import-handled.ts';
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
export type { MissingProcessors, Processing } from './processors.ts';
export type { AllTraffic, Traffic } from './traffic/what-comes-in.ts';
export type { Alarm } from './watch.ts';
export type { Warning } from './words/watch-words.ts';
export type { IgnoredType, RunningProcessor, TypeCount, UnhandledType } from '../inbox/work.ts';
export { auditLines } from './audit.ts';
export { readiness, type Readiness } from './health.ts';
export { metrics, type Metrics } from './metrics.ts';
export type { Act, ActCounts, ActOptions, ActReport, ActResult, Bulk, By } from '../inbox/operator/acts.ts';
export type { AuditFilter, AuditLine, AuditPage, EventAct } from '../inbox/operator/audit.ts';
export type { Gauges } from '../inbox/operator/counts.ts';
export type { Gauge } from '../inbox/rules/counted.ts';
export type { RejectedDelivery, Rejection } from '../inbox/operator/counts.ts';
export type { EventFilter, PageRequest, BodyCondition, SearchOrder } from '../inbox/operator/search.ts';
export type { BulkFate } from '../inbox/operator/acts.ts';
export type { EraseOptions, EraseProgress, EraseReport } from '../inbox/operator/erasing.ts';
export type { PruneCriteria } from '../inbox/rules/pruning.ts';
export type { Blocker, Wait } from '../inbox/rules/waiting.ts';
export type { Operations } from '../inbox/contract.ts';
export type { Pause } from '../inbox/operator/pauses.ts';
export type { EndpointType, StoredPause } from '../inbox/rules/pauses.ts';
export type {
  DeadGroup,
  EventCount,
  EventPage,
  EventSummary,
  FoundName,
  RetryGroup,
  SearchRequest,
} from '../inbox/operator/search.ts';
export type { ImportCounts } from '../inbox/operator/transfer.ts';
