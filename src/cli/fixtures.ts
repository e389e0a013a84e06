import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { EVENT_MEANINGS, eventTypes } from '../events/event-types.ts';
import { OWNER_ONLY } from '../host/files.ts';
import { fixture, fixturesFolder } from '../testing/fixtures.ts';
import { idFor } from './events/search.ts';
import { refuseUrl } from './shared/files.ts';
import { existingInbox } from './shared/inbox.ts';
import { shownInbox, type DbOptions, type WideOptions } from './shared/options.ts';
import { CommandError, EXIT, printBytes, printJson, tell } from './shared/output.ts';
import { lineWidth, table } from './shared/table.ts';

interface CatalogEntry {
  readonly name: string;
  readonly expect: 'known' | 'unknown' | 'invalid' | 'rejected';
  readonly what: string;
}

export async function listFixtures(options: WideOptions & { readonly json?: boolean }): Promise<void> {
  const entries = catalog();
  if (options.json === true) return printJson(entries);
  const rows = entries.map(({ name, expect, what }) => [name, expect, what]);
  table(['name', 'is', 'what'], rows, lineWidth(options));
}

/** `edge/` may be omitted. */
export async function showFixture(name: string): Promise<void> {
  const entry = catalog().find((one) => one.name === name || one.name === `edge/${name}`);
  if (entry !== undefined) return printBytes(fixture(entry.name));
  throw new CommandError(
    `The fixture ${JSON.stringify(name)} does not exist. To list all fixtures, run hookbox fixtures list.`,
    EXIT.notFound,
  );
}

function catalog(): readonly CatalogEntry[] {
  const expectations = JSON.parse(readFileSync(join(fixturesFolder(), 'edge/expectations.json'), 'utf8')) as Readonly<
    Record<string, { readonly expect: CatalogEntry['expect']; readonly why: string }>
  >;
  return [
    ...eventTypes.map((type) => ({ name: type, expect: 'known' as const, what: EVENT_MEANINGS[type] })),
    ...Object.entries(expectations).map(([name, { expect, why }]) => ({ name: `edge/${name}`, expect, what: why })),
  ];
}

interface CaptureOptions extends DbOptions {
  readonly endpoint: string;
  readonly out?: string;
  readonly force?: boolean;
  readonly redact?: boolean;
}

export async function capture(given: string, options: CaptureOptions): Promise<void> {
  const { out, force = false, redact = false } = options;
  const stored = await storedBody(given, options);
  const body = redact ? await redacted(stored) : stored;
  if (out === undefined) printBytes(body);
  else save(out, body, force);
  if (redact) {
    tell('The body has invented values, so the old signature does not match. Sign the body with hookbox sign.');
  }
}

async function storedBody(given: string, options: CaptureOptions): Promise<Uint8Array> {
  await using inbox = await existingInbox(options);
  const { endpoint } = options;
  const id = await idFor(inbox, given, options);
  const event = await inbox.get({ endpoint, id });
  if (event === null) {
    throw new CommandError(
      `${shownInbox(options)} has no event ${JSON.stringify(id)} of the endpoint ${JSON.stringify(endpoint)}.`,
      EXIT.notFound,
    );
  }
  if (event.body !== null) return event.body;
  throw new CommandError(`${JSON.stringify(id)} was pruned. The inbox still has its id, but not its body.`);
}

async function redacted(body: Uint8Array): Promise<Uint8Array> {
  const [{ redactBody }, { readEvent }] = await Promise.all([
    import('../ops/redact.ts'),
    import('../events/parse.ts'), // its schemas take a while to load
  ]);
  const verdict = (bytes: Uint8Array): string => {
    const { parsed, facts } = readEvent(bytes);
    return JSON.stringify([parsed.ok, facts?.type]);
  };
  const result = redactBody(body);
  if (verdict(result) === verdict(body)) return result;
  throw new CommandError(
    '--redact would change the type or validity of this event. Capture the event without --redact, then edit the file by hand.',
  );
}

function save(path: string, body: Uint8Array, force: boolean): void {
  refuseUrl(path);
  try {
    writeFileSync(path, body, { flag: force ? 'w' : 'wx', mode: OWNER_ONLY });
  } catch (failure) {
    const exists = (failure as NodeJS.ErrnoException).code === 'EEXIST';
    throw new CommandError(
      exists
        ? `${path} already exists. Use a different --out, or add --force to replace the file.`
        : `hookbox cannot write ${path}: ${messageOf(failure)}`,
    );
  }
  tell(`Wrote ${body.byteLength} bytes to ${path}.`);
}
