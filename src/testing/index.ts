/**
 * Tools for your own tests: events, signed requests, deliveries to any target, and an inbox whose clock your test
 * controls.
 *
 * @module
 */
export { buildEvent, type BuildEventOptions, type EventOverrides } from './build-event.ts';
export { signedRequest, type Deliverable, type SignedRequestInit } from './signed-request.ts';
export { deliverTo, type DeliverToOptions } from './deliver-to.ts';
export type { DeliveryAnswer } from './deliver-to.ts';
export type {
  DeliveryTarget,
  FetchingTarget,
  FetchTarget,
  InjectableTarget,
  LambdaTarget,
  NodeTarget,
  ReceivingTarget,
} from './deliver-to.ts';
export type { LambdaShape } from './lambda-events.ts';
export { testInbox, type TestInbox, type TestInboxOptions } from './test-inbox.ts';
export type { TestClock } from './test-inbox.ts';
export type { Clock } from '../host/clock.ts';
