import { styled } from '../shared/output.ts';
import type { JsonSchema } from '../../events/json-schemas.ts';

interface Line {
  readonly name: string;
  readonly kind: string;
}

/** A schema as people read it: a line for each field, `?` for one that may be absent. */
export function outline(schema: JsonSchema): readonly string[] {
  const lines = fieldsOf(schema, '  ');
  const width = Math.max(...lines.map(({ name }) => name.length));
  return [
    `${styled('bold', schema.title ?? '')}: ${schema.description ?? ''}`,
    ...lines.map(({ name, kind }) => `${name.padEnd(width)}  ${kind}`.trimEnd()),
  ];
}

function fieldsOf({ properties = {}, required = [] }: JsonSchema, indent: string): readonly Line[] {
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
