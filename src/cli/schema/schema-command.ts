import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { usageError } from '../shared/exit.ts';
import { print, printJson } from '../shared/output.ts';

/** `hookbox schema` */
export function schemaCommand(): Command {
  return command('schema', 'show the fields of each event type', [
    'hookbox schema order.created',
    'hookbox schema --json > events.schema.json',
    'hookbox schema cart.abandoned --json',
  ])
    .argument('[type]', 'one event type; all unless given')
    .option('--json', 'print JSON Schema (draft 2020-12), of all types keyed by type')
    .action(async (name: string | undefined, { json }: { readonly json?: boolean }) => {
      const [{ eventTypes, isEventType }, { jsonSchema, jsonSchemas }, { outline }] = await Promise.all([
        import('../../events/event-types.ts'),
        import('./json-schemas.ts'),
        import('./schema-outline.ts'),
      ]);
      if (name !== undefined && !isEventType(name)) {
        const { didYouMean } = await import('../shared/did-you-mean.ts');
        throw usageError(`${JSON.stringify(name)} is no event type. ${didYouMean(name, eventTypes)}`);
      }
      if (json === true) printJson(name === undefined ? jsonSchemas() : jsonSchema(name));
      else {
        const types = name === undefined ? [...eventTypes] : [name];
        print(types.flatMap((type, n) => [...(n === 0 ? [] : ['']), ...outline(jsonSchema(type))]));
      }
    });
}
