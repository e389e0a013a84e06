/**
 * The whole Commerce Ordering Service on one machine: its operations, its webhooks, its clock and its faults, for tests and for
 * who integrates with the network off.
 *
 * @module
 */
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.ts';
export type { Assumptions } from './assumptions.ts';
export type { Controls } from './controls.ts';
export type { Webhook } from './endpoints.ts';
export type { ServiceFault } from './faults.ts';
export type { NewKey } from './keys.ts';
export type { PlanLimits, PlanName } from './limits.ts';
