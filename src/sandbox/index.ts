/**
 * An imitation of the Commerce Ordering Service that runs in your process. The sandbox has the operations and webhooks
 * of the service, as well as a clock and faults that you control. Use the sandbox in tests, and for development without
 * a network.
 *
 * @module
 */
export { createSandbox, type Sandbox, type SandboxOptions } from './create-sandbox.ts';
export type { Assumptions } from './assumptions.ts';
export type { Controls } from './controls.ts';
export type { PendingDeliveryFault } from './deliveries.ts';
export type { Delivery, DeliveryFilter, DeliveryRecord, DeliveryState, DeliveryTry } from './delivery-list.ts';
export type { NextDue } from './due.ts';
export type { Endpoint, EndpointSettings, Webhook } from './endpoints.ts';
export type { EventByHand } from './events.ts';
export type { PendingFault, ServiceFault } from './faults.ts';
export type { StockLevel } from './inventory.ts';
export type { CreatedKey, KeyRecord, NewKey } from './keys.ts';
export type { OperationName } from './service-operations.ts';
export type { OrderStatus } from './resources.ts';
export type { OrderByHand, OrderFilter, OrderRecord, OrderSummary } from './orders.ts';
export type { ChargeRecord } from './payments.ts';
export type { LimitUse, PlanLimits, PlanName } from './limits.ts';
