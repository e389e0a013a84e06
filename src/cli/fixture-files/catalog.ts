import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventTypes } from '../../events/event.ts';
import { fixture, fixturesFolder } from '../../fixtures.ts';
import { EVENT_MEANINGS } from '../event-meanings.ts';
import { CommandError, EXIT } from '../exit.ts';

/** A body that comes with the package. */
export interface CatalogEntry {
  readonly name: string;
  /** what a receiver makes of it: a known event, one of an unknown type, an invalid one, or none at all */
  readonly expect: 'known' | 'unknown' | 'invalid' | 'refused';
  readonly what: string;
}

/** All of them: one for each event type, then the edge cases. */
export function catalog(): readonly CatalogEntry[] {
  const expectations = JSON.parse(readFileSync(join(fixturesFolder(), 'edge/expectations.json'), 'utf8')) as Readonly<
    Record<string, { readonly expect: CatalogEntry['expect']; readonly why: string }>
  >;
  return [
    ...eventTypes.map((type) => ({ name: type, expect: 'known' as const, what: EVENT_MEANINGS[type] })),
    ...Object.entries(expectations).map(([name, { expect, why }]) => ({ name: `edge/${name}`, expect, what: why })),
  ];
}

/**
 * The exact bytes of the one with a name; `edge/` may be left out.
 *
 * @throws CommandError, with the exit code for what is not found
 */
export function bodyNamed(name: string): Buffer {
  const entry = catalog().find((one) => one.name === name || one.name === `edge/${name}`);
  if (entry !== undefined) return fixture(entry.name);
  throw new CommandError(
    `There is no fixture ${JSON.stringify(name)}. hookbox fixtures list names them all.`,
    EXIT.notFound,
  );
}
