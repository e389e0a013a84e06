import type { oas31 } from 'zod-openapi';

export type Schema = oas31.SchemaObject | oas31.ReferenceObject;
export type Schemas = Readonly<Record<string, Schema>>;

/** What a reference to a component leads to. */
export function resolved(schema: Schema, schemas: Schemas): oas31.SchemaObject {
  if (!isReference(schema)) return schema;
  const target = schemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)];
  if (target === undefined) throw new Error(`${schema.$ref} leads nowhere`);
  return resolved(target, schemas);
}

function isReference(schema: Schema): schema is oas31.ReferenceObject {
  return schema.$ref !== undefined;
}

/** A value that fits, made of the examples of its fields: what is required, and what else has an example. */
export function exampleOf(schema: Schema, schemas: Schemas): unknown {
  const { examples = [], properties, required = [], items } = resolved(schema, schemas);
  if (examples.length > 0) return examples[0];
  if (items !== undefined) {
    const one = exampleOf(items, schemas);
    return one === undefined ? undefined : [one];
  }
  if (properties === undefined) return undefined;
  const fields = Object.entries(properties).map(([name, field]) => [name, exampleOf(field, schemas)] as const);
  return Object.fromEntries(fields.filter(([name, value]) => value !== undefined || required.includes(name)));
}
