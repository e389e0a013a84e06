import { defineConfig } from 'vitest/config';
import everything from './vitest.config.ts';

/** `npm run test:unit`, the inner loop: no database, no browser, no other process, no network. */
const UNIT = [
  'test/{events,host,inbox/rules,receive,sender,signing,testing}/*.test.ts',
  'test/processing/{attempt-*,handler-says-when,hooks,lease-*,presence,release}.test.ts',
  'test/inbox/memory.test.ts',
  'test/printable.test.ts',
];

const { projects: _, ...rest } = everything.test ?? {};

export default defineConfig({
  test: {
    ...rest,
    name: 'unit',
    include: UNIT,
    // They write to a file of SQLite, start a process, or compare times.
    exclude: [
      'test/host/{ephemeral-host,fake-timers,file-path,logger-pino,loggers}.test.ts',
      'test/receive/{delivery-statistics,entity-option,hooks,tracing,upkeep}.test.ts',
      'test/{events/duplicate-keys,processing/attempt-log,testing/imports,testing/test-inbox}.test.ts',
    ],
    isolate: false,
    maxWorkers: 2,
    setupFiles: ['test/helpers/no-parts.ts'],
  },
});
