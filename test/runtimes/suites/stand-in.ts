/** Replaces `vitest` where it does not run: runs the cases in turn and writes a line of JSON for each. `expect` and `vi` need no runner. */
import { format } from 'node:util';
import { expect as expectOfVitest, vi } from 'vitest';

type Step = () => unknown;
type Body = (...row: never[]) => unknown;
/** Options before the body, or a timeout after it. */
type Rest = readonly [Body | object, (Body | number)?];
type Define = (title: string, ...rest: Rest) => void;

interface Group {
  readonly name: string;
  readonly parent: Group | null;
  readonly beforeAll: Step[];
  readonly beforeEach: Step[];
  readonly afterEach: Step[];
  readonly afterAll: Step[];
  readonly entries: (Group | Case)[];
}

interface Case {
  readonly title: string;
  readonly run: Step;
}

const CASE_LIMIT_MS = 60_000;
const POLL_LIMIT_MS = 20_000;
const POLL_MS = 20;
/** It takes too long; `inbox-checks.ts` tests the same. */
const LEFT_OUT = 'while another process holds the lock of the database';

const root = newGroup('', null);
let collecting = root;
let finishing: Step[] = [];

export { vi };
export const expect = Object.assign(
  (value: unknown, message?: string) => expectOfVitest(value, message),
  expectOfVitest,
  { poll },
);

export const describe = Object.assign(collectGroup, { each: eachWith(collectGroup) });
export const it = caseCollector();
export const test = caseCollector();

export const beforeAll = (step: Step): void => void collecting.beforeAll.push(step);
export const beforeEach = (step: Step): void => void collecting.beforeEach.push(step);
export const afterEach = (step: Step): void => void collecting.afterEach.push(step);
export const afterAll = (step: Step): void => void collecting.afterAll.push(step);
export const onTestFinished = (step: Step): void => void finishing.push(step);

export async function runCases(): Promise<void> {
  await runGroup(root, []);
}

function collectGroup(name: string, ...rest: Rest): void {
  if (name.startsWith(LEFT_OUT)) return;
  const parent = collecting;
  collecting = newGroup(name, parent);
  parent.entries.push(collecting);
  bodyOf(name, rest)();
  collecting = parent;
}

function collectCase(title: string, ...rest: Rest): void {
  collecting.entries.push({ title, run: bodyOf(title, rest) });
}

function caseCollector() {
  const skipIf = (isSkipped: boolean): Define => (isSkipped ? () => {} : collectCase);
  return Object.assign(collectCase.bind(null), { each: eachWith(collectCase), skipIf });
}

function eachWith(collect: (title: string, body: Step) => void) {
  return (rows: readonly unknown[]): Define =>
    (title, ...rest) => {
      for (const row of rows) {
        const values: readonly unknown[] = Array.isArray(row) ? row : [row];
        const body = bodyOf(title, rest);
        collect(titleOf(title, values), () => body(...(values as never[])));
      }
    };
}

function bodyOf(title: string, rest: Rest): Body {
  const body = rest.find((one) => typeof one === 'function');
  if (body === undefined) throw new TypeError(`${title}: nothing to run`);
  return body as Body;
}

/** Replaces `%s` and `$name`. */
function titleOf(title: string, values: readonly unknown[]): string {
  const row = Object(values[0]) as Readonly<Record<string, unknown>>;
  const named = title.replaceAll(/\$(\w+)/g, (asked, key: string) => (key in row ? String(row[key]) : asked));
  return format(named, ...values.slice(0, named.match(/%[sd]/g)?.length ?? 0));
}

function newGroup(name: string, parent: Group | null): Group {
  return { name, parent, beforeAll: [], beforeEach: [], afterEach: [], afterAll: [], entries: [] };
}

async function runGroup(group: Group, path: readonly string[]): Promise<void> {
  for (const step of group.beforeAll) await step();
  for (const entry of group.entries) {
    if ('entries' in entry) await runGroup(entry, [...path, entry.name]);
    else
      console.log(JSON.stringify({ name: [...path, entry.title].join(' > '), failure: await failureOf(entry, group) }));
  }
  for (const step of group.afterAll.toReversed()) await step();
}

async function failureOf({ run }: Case, group: Group): Promise<string | null> {
  finishing = [];
  try {
    const lineage = lineageOf(group);
    for (const { beforeEach } of lineage) for (const step of beforeEach) await step();
    await withinLimit(run);
    for (const { afterEach } of lineage.toReversed()) for (const step of afterEach) await step();
    return null;
  } catch (failure) {
    return failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
  } finally {
    for (const step of finishing.toReversed()) await step();
  }
}

function lineageOf(group: Group | null): Group[] {
  return group === null ? [] : [...lineageOf(group.parent), group];
}

async function withinLimit(run: Step): Promise<void> {
  const { promise: limit, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not over after ${CASE_LIMIT_MS} ms`)), CASE_LIMIT_MS);
  try {
    await Promise.race([run(), limit]);
  } finally {
    clearTimeout(timer);
  }
}

function poll(look: Step): object {
  const holds = async (assertion: string, given: readonly unknown[]): Promise<void> => {
    for (const until = performance.now() + POLL_LIMIT_MS; ;) {
      try {
        const assertions = expectOfVitest(await look()) as unknown as Record<string, (...given: unknown[]) => void>;
        assertions[assertion]?.(...given);
        return;
      } catch (failure) {
        if (performance.now() > until) throw failure;
      }
      await new Promise((resolve) => void setTimeout(resolve, POLL_MS));
    }
  };
  return new Proxy(
    {},
    {
      get:
        (_, assertion) =>
        (...given: unknown[]) =>
          holds(String(assertion), given),
    },
  );
}
