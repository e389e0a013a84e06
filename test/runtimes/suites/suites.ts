import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { emptiedInbox } from '../../helpers/emptied-inbox.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { testInbox } from '../../inbox/conformance.ts';
import { directedHistories } from '../../processing/model/directed-histories.ts';
import { everyHistoryKeepsItsPromises, thisHistoryKeepsItsPromises } from '../../processing/model/history.ts';
import { Tally } from '../../processing/model/moves.ts';
import { seed } from '../../processing/model/seed.ts';
import { threaded, type StoreKind } from '../../processing/model/stores.ts';
import { testScope } from '../../processing/scope.conformance.ts';
import { testWorkQueue } from '../../processing/work-queue.conformance.ts';
import { PLACEMENTS } from '../inbox-checks.ts';
import { testKilledHandlers } from './killed-handlers.ts';
import { runCases } from './stand-in.ts';

describe.each(PLACEMENTS)('%s', (placement) => {
  const open = (file: string) => sqliteInbox(file, { thread: placement === 'thread' });
  testInbox('the inbox', emptiedInbox(open), () => open(scratchFile()));
  testWorkQueue('the work queue', emptiedInbox(open));
  testScope('the scope', emptiedInbox(open));
  testKilledHandlers(placement);
});

/** In threads: what an event loop runs without them is the same JavaScript as in model.test.ts. */
describe('the model', () => {
  let stores: StoreKind;
  beforeAll(() => {
    stores = threaded.open();
  });
  afterAll(() => stores[Symbol.asyncDispose]());
  const parameters = { seed, numRuns: 10 };

  it(`every history keeps every promise, ${parameters.numRuns} times`, async () => {
    await fc.assert(everyHistoryKeepsItsPromises({ stores, tally: new Tally() }), parameters);
  });

  it.each(directedHistories)('every promise is kept: $name', async (history) => {
    const run = { stores, tally: new Tally() };
    await fc.assert(thisHistoryKeepsItsPromises(history, run), { ...parameters, numRuns: 1 });
  });
});

await import('../../inbox/sqlite-faults.test.ts');
await import('../../crash/kill.test.ts');
await import('../../crash/groups-under-way.test.ts');

await runCases();
