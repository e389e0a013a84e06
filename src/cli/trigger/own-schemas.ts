import { messageOf } from '../../errors.ts';
import { declaredTypes, schemaOf, type EventSchemas } from '../../events/own-events.ts';
import { checkedEvent } from '../../events/known-event.ts';
import { parseEvent } from '../../events/parse.ts';
import { usageError } from '../shared/exit.ts';
import { tell } from '../shared/output.ts';
import { exportedSchemas, importOwn } from '../shared/own-module.ts';

/**
 * The schemas that a module exports as `events`.
 *
 * @throws CommandError for a module that has none
 */
export async function schemasIn(file: string): Promise<EventSchemas> {
  const schemas = exportedSchemas(await importOwn(file), file);
  if (declaredTypes(schemas).length > 0) return schemas;
  throw usageError(`${file} exports no schemas. Add: export const events = { 'loyalty.earned': schema };`);
}

/** Says what does not fit: it is sent all the same, as the service would. */
export async function tellMisfit(body: Uint8Array, schemas: EventSchemas): Promise<void> {
  const parsed = parseEvent(body);
  const schema = parsed.ok ? schemaOf(schemas, parsed.event.type) : undefined;
  if (!parsed.ok || schema === undefined) return;
  const { type } = parsed.event;
  try {
    const checked = await checkedEvent(parsed.event, schema);
    if (!checked.fits)
      tell(`note: the event does not fit your schema for ${type}, so hookbox will store it as dead: ${checked.why}`);
  } catch (failure) {
    tell(`note: your schema for ${type} failed to check the event: ${messageOf(failure)}`);
  }
}
