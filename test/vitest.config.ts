import { matchesGlob, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** One server for a run, which starts when the first file asks for it. */
export const POSTGRES_ON_DEMAND = 'test/helpers/postgres-on-demand.ts';

/** In `npm run test:long` alone, as CI has fifteen minutes. The dearest come first. */
export const LONGEST: readonly string[] = [
  'test/ops/utf-16{be,le}.test.ts',
  'test/processing/model/postgres-mutants.test.ts',
  'test/adapters/one-byte-chunks.test.ts',
  'test/ops/search-page.test.ts',
  'test/hosts/next-webpack.test.ts',
  'test/inbox/postgres/processes/*.test.ts',
  'test/inbox/postgres/{erasing,through-pgbouncer,one-connection,operator-plans}.test.ts',
  'test/inbox/postgres/{transfer,search,search-page,search-index,search-bounds,search-plans}.test.ts',
  'test/inbox/postgres/{pruning,bulks,counts,counts-of-machines,claims-beside-many,several-machines}.test.ts',
  'test/inbox/postgres/{pglite,inline,three-ways,fail-over,silence,acts-and-removal-plans}.test.ts',
];

/** What takes long on a real Postgres, and is in `npm run test:all` too. */
export const ON_POSTGRES: readonly string[] = [
  'test/inbox/postgres/{given-up,health,migrating-beside-work,plans,wake-up}.test.ts',
  'test/cli/{postgres,postgres-answers,postgres-doctor,postgres-page}.test.ts',
  'test/runtimes/postgres.test.ts',
];

/** What `npm test` leaves to `npm run test:all`: what needs test/parts, and what takes long. The dearest come first. */
export const LONG: readonly string[] = [
  'test/hosts/**',
  'test/host/{fake-timers,loggers}.test.ts',
  'test/package/**',
  'test/runtimes/suites.test.ts',
  'test/cli/replay-memory.test.ts',
  'test/browser/ops-*.test.ts',
  'test/browser/sandbox-{interface,page}.test.ts',
  'test/sandbox/openapi/{prism,redocly}.test.ts',
  'test/ops/page/{page,lists}-script.test.ts',
  'test/cli/{hostile-inbox,scenario}.test.ts',
  'test/{examples,guides,tutorial}.test.ts',
  'test/check/{wrong-endpoints,putting-off,evidence}.test.ts',
  'test/cli/{replay,events-keep,doctor,demo}.test.ts',
  'test/runtimes/{workerd,bun,deno,node22,node26}.test.ts',
  'test/processing/{bounded-work,in-threads,model/mutants,model/model}.test.ts',
  'test/sandbox/{kill,model/mutants}.test.ts',
  'test/crash/{power-cut,shop-kill}.test.ts',
  'test/crash/*.test.ts',
  'test/processing/{breaker,rates}-of-processes.test.ts',
  'test/adapters/express{4,-kept-bytes,-after-middleware}.test.ts',
  'test/adapters/hono-after-middleware.test.ts',
  'test/check/{check-endpoint,verdicts}.test.ts',
  'test/cli/{sandbox-steering,serve-forward,serve-watch}.test.ts',
  'test/inbox/threads/{another-library,checkpoints,lost-answers}.test.ts',
];

/** What does more of it in `npm run test:long`: see helpers/times.ts. */
export const BY_TIMES: readonly string[] = [
  'test/processing/model/model.test.ts',
  'test/sandbox/{kill,any-request,model/model}.test.ts',
  'test/crash/{kill,handling-kill,groups-under-way}.test.ts',
  'test/{explain/explain-mismatch,inbox/sqlite,inbox/threads/inbox-threads,signing/signature}.test.ts',
];

/** Dear beyond their size, by which vitest puts the rest in order: what they do stands in other files, or they wait. */
const DEARER_THAN_LARGE = [
  'test/inbox/postgres/{operators,work-queue}.test.ts',
  'test/inbox/threads/{checkpoints,inbox-threads}.test.ts',
  'test/inbox/sqlite.test.ts',
  'test/adapters/aws-lambda.test.ts',
  'test/cli/{serve,serve-forward,ui,own-process,start}.test.ts',
  'test/explain/**',
  'test/ops/backup.test.ts',
  'test/check/{hookbox,verdicts}.test.ts',
  'test/inbox/effect-transaction-faults.test.ts',
  'test/adapters/{hono,fastify,node,fetch,express}.test.ts',
];

/**
 * Files that share a process with others, one after the other, and with it what has been loaded and compiled; each of the
 * rest has a process of its own, as does what replaces modules or what a process has one of, and what counts steps.
 */
const TOGETHER = [
  'test/{api,check,events,explain,inbox/rules,receive,sender,testing}/*.test.ts',
  'test/sandbox/!(kill|killed-anywhere|real-clock|story|over-http).test.ts',
  'test/sandbox/openapi/{answers,document,interface-page}.test.ts',
  'test/{docs,examples,fixtures,option-rules,printable,signing/secrets,host/logger-pino}.test.ts',
  'test/adapters/!(fastify-hooks|hono-after-middleware|one-byte-chunks).test.ts',
  'test/inbox/postgres/!(ended-when-ready|through-pgbouncer|without-driver).test.ts',
  'test/inbox/!(colliding-ids|sqlite-durability|sqlite-faults|sqlite-network-file-system|sqlite-owner-only).test.ts',
  'test/processing/{attempt-ending,attempt-log,handler-says-when,bounded-work,endpoints,lease-{grace,renewal},own-events,presence,unhandled}.test.ts',
  'test/browser/*.test.ts',
  'test/cli/!(demo|migrate|output|postgres*|table).test.ts',
  'test/ops/!(utf-16le|utf-16be|search-steps).test.ts',
  'test/ops/page/!(mask-steps).test.ts',
];

// Whatever starts last must be short, or one core waits for the other. A file of the other project ends the process that
// several share: so first those apart, then those together, and in each the dearest first.
class DearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const dearest = [...LONGEST, ...ON_POSTGRES, ...BY_TIMES, ...LONG, ...DEARER_THAN_LARGE];
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const at = dearest.findIndex((glob) => matchesGlob(relative(ROOT, moduleId), glob));
      const behind = project.name === 'together' ? dearest.length + 1 : 0;
      return behind + (at === -1 ? dearest.length : at);
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
    alias: [{ find: /^\..*\/real-timers\.ts$/, replacement: `${ROOT}test/helpers/global-timers.ts` }],
    projects: [
      {
        extends: true,
        test: { name: 'together', include: TOGETHER, isolate: false, globalSetup: POSTGRES_ON_DEMAND },
      },
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...TOGETHER],
          globalSetup: POSTGRES_ON_DEMAND,
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
    provide: { everything: true, inFull: false },
  },
});
