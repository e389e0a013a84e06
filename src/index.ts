/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Receivers, processors, handlers, signatures and errors.
 *
 * @module
 */
export { createReceiver, type Receiver, type ReceiverOptions } from './receive/receiver.ts';
export { createProcessor, type Processor, type ProcessorOptions } from './processing/processor.ts';
export type { RetentionOptions } from './processing/limits.ts';
export type { ProcessingOptions } from './processing/limits.ts';
export type { RetryOptions } from './inbox/rules/attempt.ts';
export type { DeadReason, EventState } from './inbox/event.ts';
export { rerun, type RerunResult } from './ops/act-on-events.ts';
export { signBody, verifySignature, type Secret } from './signing/signature.ts';
export type { SecretOption, SecretProvider, Secrets } from './signing/secrets.ts';
export { parseEvent, type ParsedEvent } from './events/parse.ts';
export {
  type EventOf,
  type HandledEvent,
  type InvalidEvent,
  type Issue,
  type UnknownEvent,
  type WebhookEvent,
} from './events/webhook-event.ts';
export { eventTypes, type EventType } from './events/event-types.ts';
export type { EventSchemas, OwnEvents } from './events/own-events.ts';
export type { SchemaIssue, SchemaResult, StandardSchema } from './events/standard-schema.ts';
export { isKnown } from './events/known-event.ts';
export { entityOf, type EntityOf } from './events/entity.ts';
export type { Instant } from './events/instant.ts';
export type {
  DeliveryFacts,
  Handler,
  HandlerContext,
  HandlerLog,
  Handlers,
  HandlerWithOptions,
} from './processing/handlers.ts';
export type { OpenTelemetryApi } from './host/tracing.ts';
export type { Hook } from './processing/attempt-hooks.ts';
export type { AttemptHookFacts, AttemptHooks, DeadFacts, FailedFacts, HookError } from './processing/attempt-hooks.ts';
export type { ConflictFacts, DeliveryHooks, SilentFacts } from './receive/delivery-hooks.ts';
export type { LatestOptions, TypeOptions } from './processing/handlers.ts';
export type { BodyBuffer, BodyLimits, BodyRead, BodyReader, Delivery } from './receive/delivery.ts';
export type { AnswerCode, ErrorBody, Outcome, Reason, ErrorOutcome } from './receive/outcome.ts';
export type { AnyInbox, Inbox } from './inbox/contract.ts';
export type { Acceptance, EventKey, IncomingEvent, Occurrences, StoredEvent } from './inbox/event.ts';
export type {
  Announced,
  Attempt,
  AttemptError,
  ClaimedEvent,
  ClaimRequest,
  DoneStep,
  IgnoredType,
  Lease,
  LogLine,
  Scope,
  Settlement,
  TypeCount,
  UnhandledType,
  WorkQueue,
} from './inbox/work.ts';
export type { HostLimits } from './host/host-limits.ts';
export type { Logger } from './host/logger.ts';
export {
  ConfigurationError,
  HookboxError,
  InboxOpenError,
  InboxUnavailableError,
  PermanentError,
  RetryLaterError,
  TransactionError,
} from './errors.ts';
// For adapters, ours and others'.
export { createVerifier, type VerifiedDelivery, type Verifier, type VerifierOptions } from './receive/verifier.ts';
export { isErrorOutcome, type ErrorFacts } from './receive/outcome.ts';
export type { Deadline } from './host/host-limits.ts';
export type { EventFacts } from './events/parse.ts';
