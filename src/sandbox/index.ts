/**
 * The whole Commerce Ordering Service on one machine: its operations, its webhooks, its clock and its faults, for tests and for
 * who integrates with the network off.
 *
 * @module
 */
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.ts';
export type { Assumptions } from './assumptions.ts';
export type { Controls } from './controls.ts';
export type { Delivery, DeliveryFilter, DeliveryTry } from './delivery-list.ts';
export type { Endpoint, EndpointSettings, Webhook } from './endpoints.ts';
export type { PendingFault, ServiceFault } from './faults.ts';
export type { StockLevel } from './inventory.ts';
export type { CreatedKey, KeyRecord, NewKey } from './keys.ts';
export type { OperationName } from './operations.ts';
export type { OrderStatus } from './order-moves.ts';
export type { OrderSummary } from './orders.ts';
export type { ChargeRecord } from './payments.ts';
export type { PlanLimits, PlanName } from './limits.ts';
