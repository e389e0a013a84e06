import { matchesGlob, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** What `npm test` leaves to `npm run test:all`: what needs test/parts, and what takes long. The dearest come first. */
export const LONG: readonly string[] = [
  'test/inbox/postgres/{through-pgbouncer,one-connection,processes/churn}.test.ts',
  'test/hosts/**',
  'test/package/**',
  'test/adapters/one-byte-chunks.test.ts',
  'test/runtimes/suites.test.ts',
  'test/cli/replay-memory.test.ts',
  'test/browser/ops-{screens,page,pictures}.test.ts',
  'test/ops/page/page-script.test.ts',
  'test/ops/utf-16{le,be}.test.ts',
  'test/cli/{hostile-inbox,scenario}.test.ts',
  'test/examples.test.ts',
  'test/check/{wrong-endpoints,putting-off,evidence}.test.ts',
  'test/cli/{replay,events-keep,doctor,demo,postgres-answers,postgres-doctor}.test.ts',
  'test/runtimes/{workerd,bun,deno,node22,node24,node26,postgres}.test.ts',
  'test/processing/{bounded-work,in-threads,model/mutants}.test.ts',
  'test/sandbox/model/mutants.test.ts',
  'test/crash/{power-cut,handling-backlog,handling-poison,bulk-kill}.test.ts',
  'test/{ops,inbox/postgres}/search-page.test.ts',
  'test/adapters/express{4,-kept-bytes}.test.ts',
];

/** What is in both, but does less in `npm test`: see helpers/times.ts. */
const BY_TIMES = ['test/processing/model/**', 'test/sandbox/{kill.test.ts,model/**}', 'test/crash/**'];

/**
 * Files that share a process with others, one after the other, and with it what has been loaded and compiled; each of the
 * rest has a process of its own, as does what replaces modules or what a process has one of, and what counts steps.
 */
const TOGETHER = [
  'test/{check,events,explain,inbox/rules,receive,sender,testing}/*.test.ts',
  'test/sandbox/!(kill|killed-anywhere|real-clock|story|over-http).test.ts',
  'test/{docs,examples,fixtures,printable,signing/secrets,host/logger-pino}.test.ts',
  'test/adapters/!(fastify-hooks|hono-after-middleware|one-byte-chunks).test.ts',
  'test/inbox/!(sqlite-durability|sqlite-faults|sqlite-network-file-system|sqlite-owner-only).test.ts',
  'test/processing/{attempt-ending,bounded-work,doubt,endpoints,lease-renewal,presence,unhandled}.test.ts',
  'test/cli/!(demo|failure|migrate|output|postgres*|table).test.ts',
  'test/ops/!(utf-16le|utf-16be|search-steps).test.ts',
  'test/ops/page/!(mask-steps).test.ts',
];

// Whatever starts last must be short, or one core waits for the other.
class DearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const dearest = [...BY_TIMES, ...LONG];
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = dearest.findIndex((glob) => matchesGlob(relative(ROOT, moduleId), glob));
      return at === -1 ? dearest.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

// Hundreds of processes load the same modules. Node takes what it has compiled, and what it has made of TypeScript, from here.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('../node_modules/.cache/hookbox-compiled', import.meta.url),
);

/** Every test. */
export default defineConfig({
  test: {
    root: ROOT,
    projects: [
      { extends: true, test: { name: 'together', include: TOGETHER, isolate: false } },
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...TOGETHER],
          globalSetup: 'test/helpers/postgres-on-demand.ts',
        },
      },
    ],
    testTimeout: 60_000,
    // Who waits for something waits for it, however slow the machine is.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 30_000,
    // Crash and fault tests start processes of their own, and others wait for deadlines: two cores, four files at a time.
    maxWorkers: 4,
    sequence: { sequencer: DearestFirst },
    provide: { everything: true },
  },
});
