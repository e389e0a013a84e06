import { messageOf } from '../../errors.ts';
import type { EventSchemas } from '../../events/own-events.ts';
import { assertHandlers, type Handlers } from '../../processing/handlers.ts';
import { usageError } from '../shared/output.ts';
import { exportedSchemas, importOwn, insideDefault, isRecord, type OwnModule } from '../shared/own-module.ts';

/** What a module exports for a receiver. */
export interface Loaded {
  readonly handlers: Handlers;
  readonly events: EventSchemas;
}

/**
 * The handlers that a module exports, as its default or as `handlers`, and the schemas of its own types as `events`.
 *
 * @throws CommandError that says what is wrong with the module
 */
export async function loadHandlers(file: string): Promise<Loaded> {
  const module = await importOwn(file);
  const handlers = exportedHandlers(module);
  if (handlers === null) {
    throw usageError(`${file} exports no handlers. Add: export default { 'order.created': async (event) => { … } };`);
  }
  const events = exportedSchemas(module, file);
  try {
    assertHandlers(handlers, events);
  } catch (failure) {
    throw usageError(`${file}: ${messageOf(failure)}`);
  }
  return { handlers, events };
}

/** A CommonJS module is its own default export, with what it exports inside. */
function exportedHandlers(module: OwnModule): Handlers | null {
  const inner = insideDefault(module);
  const found = [module.handlers, inner.handlers, inner.default, module.default].find((each) => each !== undefined);
  return isRecord(found) ? found : null;
}
