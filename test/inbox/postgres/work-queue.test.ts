// @module-tag postgres
// @module-tag dear
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxesOnPostgres } from '../../helpers/postgres.ts';
import { testLatest } from '../../processing/latest.conformance.ts';
import { testLeases } from '../../processing/leases.conformance.ts';
import { testOptionsByType, testTraces } from '../../processing/options-by-type.conformance.ts';
import { testRates } from '../../processing/rates.conformance.ts';
import { testToldCrashes } from '../../processing/told-crashes.conformance.ts';
import { testSteps } from '../../processing/steps.conformance.ts';
import { testScope } from '../../processing/scope.conformance.ts';
import { testStoredAsRunning, testWorkQueue } from '../../processing/work-queue.conformance.ts';

// An inbox's own connections pipeline, and an application's pool may not.
const { empty } = inboxesOnPostgres({ pipeline: true });

testWorkQueue('the work queue in Postgres', () => empty() as Inbox<never>);
testStoredAsRunning('in Postgres', () => empty() as Inbox<never>);
testScope('the work queue in Postgres', () => empty() as Inbox<never>);
testLeases('the work queue in Postgres', () => empty() as Inbox<never>);
testOptionsByType('the work queue in Postgres', () => empty() as Inbox<never>);
testRates('the work queue in Postgres', () => empty() as Inbox<never>);
testTraces('the work queue in Postgres', () => empty() as Inbox<never>);
testSteps('the work queue in Postgres', () => empty() as Inbox<never>);
testToldCrashes('the work queue in Postgres', () => empty() as Inbox<never>);
testLatest('the work queue in Postgres', () => empty() as Inbox<never>);
