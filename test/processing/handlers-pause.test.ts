import { describe, onTestFinished } from 'vitest';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox as threadedInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testBreakers } from './breakers.conformance.ts';
import { testHandlersPause } from './handlers-pause.conformance.ts';

describe.each([
  ['memory', () => memoryInbox()],
  ['SQLite', () => sqliteInbox(scratchFile())],
  ['SQLite in threads', () => threadedInbox(scratchFile())],
])('a handler pauses its type, in %s:', (_, open) => {
  testHandlersPause(async () => {
    const inbox = open();
    onTestFinished(() => inbox.close());
    return inbox;
  });
});

describe.each([
  ['memory', () => memoryInbox()],
  ['SQLite', () => sqliteInbox(scratchFile())],
  ['SQLite in threads', () => threadedInbox(scratchFile())],
])('the breaker of a type, in %s:', (_, open) => {
  testBreakers(async () => {
    const inbox = open();
    onTestFinished(() => inbox.close());
    return inbox;
  });
});
