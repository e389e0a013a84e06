import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { usageError } from '../shared/exit.ts';
import { print, printJson } from '../shared/output.ts';

interface SchemaOptions {
  readonly json?: boolean;
  readonly openapi?: boolean;
}

/** `hookbox schema` */
export function schemaCommand(): Command {
  return command('schema', 'show the fields of event types, or the OpenAPI document of the service', [
    'hookbox schema order.created',
    'hookbox schema --json > events.schema.json',
    'hookbox schema cart.abandoned --json',
    'hookbox schema --openapi > openapi.json',
  ])
    .argument('[type]', 'one event type (default: all)')
    .option('--json', 'print JSON Schema (draft 2020-12); without a type, one object keyed by type')
    .option('--openapi', 'print the OpenAPI 3.1 document that hookbox sandbox serves')
    .action(async (name: string | undefined, { json, openapi }: SchemaOptions) => {
      if (openapi === true) {
        if (name !== undefined) throw usageError('--openapi prints one document for all types. Remove the event type.');
        const { openApiDocument } = await import('../../sandbox/openapi/document.ts');
        printJson(openApiDocument());
        return;
      }
      const [{ eventTypes, isEventType }, { jsonSchema, jsonSchemas }, { outline }] = await Promise.all([
        import('../../events/event-types.ts'),
        import('../../events/json-schemas.ts'),
        import('./schema-outline.ts'),
      ]);
      if (name !== undefined && !isEventType(name)) {
        const { didYouMean } = await import('../shared/did-you-mean.ts');
        throw usageError(`${JSON.stringify(name)} is not an event type. ${didYouMean(name, eventTypes)}`);
      }
      if (json === true) printJson(name === undefined ? jsonSchemas() : jsonSchema(name));
      else {
        const types = name === undefined ? [...eventTypes] : [name];
        print(types.flatMap((type, n) => [...(n === 0 ? [] : ['']), ...outline(jsonSchema(type))]));
      }
    });
}
