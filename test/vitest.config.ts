import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** One server for a run, which starts when the first file asks for it. */
export const POSTGRES_ON_DEMAND = 'test/helpers/postgres-on-demand.ts';

/** Of files: a comment at the head of each, such as `@module-tag long`. */
const TAGS = [
  { name: 'longest', description: 'In `npm run test:long` alone, because CI has fifteen minutes.' },
  { name: 'dear', description: 'Begins first, so that no core waits for it at the end.' },
  { name: 'postgres', description: 'Takes long on a real Postgres: in `npm run test:all` and `npm run test:long`.' },
  { name: 'repeated', description: 'Does more of it in `npm run test:long`: see helpers/times.ts.' },
  { name: 'long', description: 'In `npm run test:all`: needs test/parts, or takes long.' },
] as const;

type Tag = (typeof TAGS)[number]['name'];

const tagsOf = new Map(
  globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/parts/**'] }).map((file) => {
    const head = /^(?:\/\/.*\n)*/.exec(readFileSync(join(ROOT, file), 'utf8'))?.[0] ?? '';
    return [file, [...head.matchAll(/@module-tag (\S+)/g)].map(([, tag]) => tag)] as const;
  }),
);

export function tagged(...tags: readonly Tag[]): readonly string[] {
  return [...tagsOf].flatMap(([file, has]) => (tags.some((tag) => has.includes(tag)) ? [file] : []));
}

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
// several share: so first those apart, then those together; in each by their tags, and then by size.
class DearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const has = tagsOf.get(relative(ROOT, moduleId)) ?? [];
      const at = TAGS.findIndex(({ name }) => has.includes(name));
      const behind = project.name === 'together' ? TAGS.length + 1 : 0;
      return behind + (at === -1 ? TAGS.length : at);
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
    tags: [...TAGS],
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
