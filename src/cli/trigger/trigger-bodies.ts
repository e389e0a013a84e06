import { existsSync } from 'node:fs';
import { eventTypes, isEventType } from '../../events/event-types.ts';
import { declaredTypes, schemaOf, type EventSchemas } from '../../events/own-events.ts';
import type { Issue } from '../../events/webhook-event.ts';
import { fixture } from '../../testing/fixtures.ts';
import { makeItsOwn, newEvent } from '../../testing/build-event.ts';
import { CommandError, EXIT, usageError } from '../shared/exit.ts';
import { tell } from '../shared/output.ts';
import { readInput } from '../shared/read-input.ts';
import { isContainer, parseExactly, writtenExactly } from '../../sender/event-json.ts';
import { newFields, override, remove } from './override.ts';
import { didYouMean } from '../shared/did-you-mean.ts';

/** What is to be changed in a body. */
export interface Changes {
  readonly eventId?: string;
  readonly override?: readonly string[];
  readonly remove?: readonly string[];
}

/** Makes the bytes of the next delivery. */
export type BodyMaker = () => Buffer;

/** Says what does not fit in a body, which hookbox stores as invalid then; `null` where all does. */
export type Judge = (body: Uint8Array) => Issue | null;

/**
 * What the argument of `trigger` names: a type makes an event of its own each time; a file and standard input are taken as
 * they are, byte for byte, unless something in them is to be changed.
 *
 * @param schemas - of types of the user's own
 * @throws CommandError for what is neither, with the types that are meant perhaps
 */
export async function bodiesOf(source: string, changes: Changes, schemas: EventSchemas = {}): Promise<BodyMaker> {
  if (isEventType(source)) {
    const text = fixture(source).toString();
    tellNewFields(text, changes);
    const make = (): Buffer => changed(text, changes, makeItsOwn);
    return isOneEvent(changes) ? always(make()) : make;
  }
  if (schemaOf(schemas, source) !== undefined) {
    const make = (): Buffer => changed(JSON.stringify(newEvent(source)), changes);
    tellNewFields(JSON.stringify(newEvent(source)), changes);
    return isOneEvent(changes) ? always(make()) : make;
  }
  if (source !== '-' && !existsSync(source)) throw noSuchSource(source, schemas);
  const bytes = await readInput(source);
  const { eventId, override = [], remove = [] } = changes;
  if (eventId === undefined && override.length === 0 && remove.length === 0) return always(bytes);
  tellNewFields(bytes.toString(), changes);
  return always(changed(bytes.toString(), changes));
}

/** Whether it is an event that hookbox makes, with all the fields that its schema wants. */
export function isMadeWhole(source: string, { override = [], remove = [] }: Changes): boolean {
  return isEventType(source) && override.length === 0 && remove.length === 0;
}

/** Handlers read `event.data`, so what lands beside it was most likely meant to be in it. */
function tellNewFields(text: string, { override: overrides = [] }: Changes): void {
  for (const path of newFields(parsed(text), overrides)) {
    tell(
      `note: --override ${path}=… adds a field at the top level of the event. To set a field of data, use data.${path}=…`,
    );
  }
}

/** Under one id every delivery is the same event, so all of them have the same bytes. */
function isOneEvent({ eventId, override = [] }: Changes): boolean {
  return eventId !== undefined || override.some(isOfId);
}

/** Whether an override sets the id of the event. */
export function isOfId(override: string): boolean {
  return override.startsWith('id=');
}

function always(body: Buffer): BodyMaker {
  return () => body;
}

function changed(text: string, changes: Changes, before: (body: object) => void = () => {}): Buffer {
  const { eventId, override: overrides = [], remove: removals = [] } = changes;
  const body = parsed(text);
  before(body);
  if (eventId !== undefined) Object.assign(body, { id: eventId });
  for (const each of overrides) override(body, each);
  for (const each of removals) remove(body, each);
  return Buffer.from(writtenExactly(body));
}

function parsed(text: string): object {
  let body: unknown;
  try {
    body = parseExactly(text);
  } catch {
    body = null;
  }
  if (isContainer(body) && !Array.isArray(body)) return body;
  throw usageError('The body is not a JSON object, so overrides cannot change it. Remove --override and --remove.');
}

function noSuchSource(source: string, schemas: EventSchemas): CommandError {
  if (/[/\\]|\.json$/.test(source)) return new CommandError(`The file ${source} does not exist.`, EXIT.notFound);
  const types = [...new Set([...eventTypes, ...declaredTypes(schemas)])];
  return usageError(
    `${JSON.stringify(source)} is neither an event type nor a file. ${didYouMean(source, types)} ` +
      'For a type of your own, add --events <module>.',
  );
}
