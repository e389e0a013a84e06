import { eventTypes, isEventType } from '../events/event-types.ts';
import { jsonSchema, jsonSchemas, type JsonSchema } from '../events/json-schemas.ts';
import { didYouMean } from './shared/options.ts';
import { print, printJson, styled, usageError } from './shared/output.ts';

interface SchemaOptions {
  readonly json?: boolean;
  readonly openapi?: boolean;
}

export async function printSchema(name: string | undefined, { json, openapi }: SchemaOptions): Promise<void> {
  if (openapi === true) {
    if (name !== undefined) throw usageError('--openapi prints one document for all types. Remove the event type.');
    const { openApiDocument } = await import('../sandbox/openapi/document.ts');
    printJson(openApiDocument());
    return;
  }
  if (name !== undefined && !isEventType(name)) {
    throw usageError(`${JSON.stringify(name)} is not an event type. ${didYouMean(name, eventTypes)}`);
  }
  if (json === true) printJson(name === undefined ? jsonSchemas() : jsonSchema(name));
  else {
    const types = name === undefined ? [...eventTypes] : [name];
    print(types.flatMap((type, n) => [...(n === 0 ? [] : ['']), ...outline(jsonSchema(type))]));
  }
}

/** One line for each field; `?` marks an optional one. */
function outline(schema: JsonSchema): readonly string[] {
  const lines = fieldsOf(schema, '  ');
  const width = Math.max(...lines.map(({ name }) => name.length));
  return [
    `${styled('bold', schema.title ?? '')}: ${schema.description ?? ''}`,
    ...lines.map(({ name, kind }) => `${name.padEnd(width)}  ${kind}`.trimEnd()),
  ];
}

function fieldsOf(
  { properties = {}, required = [] }: JsonSchema,
  indent: string,
): readonly Record<'name' | 'kind', string>[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const optional = required.includes(name) ? '' : '?';
    const inner = [schema, ...(schema.anyOf ?? [])].map((one) => one.items ?? one);
    return [
      { name: `${indent}${name}${optional}`, kind: described(schema) },
      ...inner.flatMap((one) => fieldsOf(one, `${indent}  `)),
    ];
  });
}

function described(schema: JsonSchema): string {
  const { description, minLength, maxLength } = schema;
  const length = maxLength === undefined ? '' : ` of ${minLength ?? 0} to ${maxLength} characters`;
  return `${kindOf(schema)}${length}${description === undefined ? '' : ` (${description})`}`;
}

function kindOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf !== undefined) return schema.anyOf.map(kindOf).join(' or ');
  if (schema.items !== undefined) return `list of ${kindOf(schema.items)}s`;
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  return types.map((type) => (type === 'string' ? 'text' : type)).join(' or ');
}
