/**
 * Functions with which operators inspect and change stored events. The command `hookbox events` and the operators' page
 * call these functions. Each throws a `ConfigurationError` `INVALID_OPTION` for an inbox without `operations`, such as
 * `memoryInbox()`.
 *
 * @module
 */
export {
  listEvents,
  countEvents,
  getEvent,
  deadGroups,
  retryGroups,
  whyWaiting,
  type CountOptions,
  type EventHistory,
  type TimelineEntry,
} from './find.ts';
export { findEvents, type FindPlace, type FindRequest, type FoundEvents, type Suggestion } from './find-by-text.ts';
export { rerunEvents, discardEvents, retryEventsNow } from './act-on-events.ts';
export { replayEvent, type ReplayOptions, type ReplayReport } from './replay.ts';
export {
  previewBulk,
  runBulk,
  pauseBulk,
  cancelBulk,
  bulkEvents,
  getBulk,
  listBulks,
  bulkOutcome,
  type BulkOutcome,
  type BulkOutcomeOptions,
  type PreviewOptions,
  type RunBulkOptions,
} from './bulks.ts';
export { acknowledgeGroup, reopenGroup } from './acknowledge.ts';
export { pauseType, pausedTypes, resumeType, type PauseOptions, type PauseTypeOptions } from './pauses.ts';
export { pruneEvents, type PruneOptions, type PruneReport } from './prune.ts';
export { eraseEntity } from './erase.ts';
export { exportEvents, exportReadable, type ExportOptions, type ReadableFormat } from './export.ts';
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
export type { Alarm, MissingProcessors, Processing, Unhandled } from './watch.ts';
export type { AllTraffic, Traffic } from './traffic.ts';
export { auditLines } from './audit.ts';
export { readiness, type Readiness, type Warning } from './health.ts';
export { databaseFaults } from './database-faults.ts';
export { metrics, type Metrics } from './metrics.ts';
export type { IgnoredType, RunningProcessor, TypeCount, UnhandledType } from '../inbox/work.ts';
export type {
  Act,
  ActCounts,
  ActOptions,
  ActReport,
  ActResult,
  Bulk,
  BulkEvent,
  BulkEvents,
  BulkEventsOptions,
  BulkFate,
  By,
} from '../inbox/operator/acts.ts';
export type { AuditFilter, AuditLine, AuditPage, EventAct } from '../inbox/operator/audit.ts';
export type { Gauge } from '../inbox/rules/counted.ts';
export type { Gauges } from '../inbox/operator/gauges.ts';
export type { RejectedDelivery, Rejection } from '../inbox/operator/counts.ts';
export type {
  BodyCondition,
  DeadGroup,
  EventCount,
  EventFilter,
  EventPage,
  EventSummary,
  FoundName,
  PageRequest,
  RetryGroup,
  SearchOrder,
  SearchRequest,
} from '../inbox/operator/search.ts';
export type { EraseOptions, EraseProgress, EraseReport } from '../inbox/operator/erasing.ts';
export type { ImportCounts } from '../inbox/operator/transfer.ts';
export type { AcknowledgeOptions, AcknowledgeReport } from '../inbox/operator/acknowledging.ts';
export type { Acknowledgement, AcknowledgeResult } from '../inbox/rules/acknowledging.ts';
export type { Pause } from '../inbox/operator/pauses.ts';
export type { PruneCriteria } from '../inbox/rules/pruning.ts';
export type { Blocker, Wait } from '../inbox/rules/waiting.ts';
export type { EndpointType, StoredPause } from '../inbox/rules/pauses.ts';
export type { DatabaseFault, Operations } from '../inbox/contract.ts';
