import type { AssumptionMark } from '../assumption-marks.ts';
import { resolved, type Schema, type Schemas } from '../example-of.ts';

/** A field as a reader sees it. */
export interface Field {
  /** such as `items[].quantity` */
  readonly name: string;
  readonly isRequired: boolean;
  /** in words */
  readonly type: string;
  readonly description: string;
  readonly assumptions: readonly AssumptionMark[];
}

/** All fields of an object, those within it after it. */
export function fieldsOf(schema: Schema, schemas: Schemas, prefix = ''): readonly Field[] {
  const { properties = {}, required = [] } = resolved(schema, schemas);
  return Object.entries(properties).flatMap(([name, field]) => {
    const own = fieldOf(`${prefix}${name}`, field, required.includes(name), schemas);
    return [own, ...fieldsWithin(own.name, field, schemas)];
  });
}

/** One by itself, such as a parameter. */
export function fieldOf(name: string, schema: Schema, isRequired: boolean, schemas: Schemas): Field {
  const { description = '', 'x-assumption': assumptions = [] as readonly AssumptionMark[] } = resolved(schema, schemas);
  return {
    name,
    isRequired,
    type: typeInWords(schema, schemas),
    description,
    assumptions: assumptions as readonly AssumptionMark[],
  };
}

function fieldsWithin(name: string, schema: Schema, schemas: Schemas): readonly Field[] {
  const { items, anyOf = [] } = resolved(schema, schemas);
  if (items !== undefined) return fieldsOf(items, schemas, `${name}[].`);
  return [schema, ...anyOf].flatMap((one) =>
    one === schema ? fieldsOf(one, schemas, `${name}.`) : fieldsWithin(name, one, schemas),
  );
}

function typeInWords(schema: Schema, schemas: Schemas): string {
  const { type, enum: words, const: only, anyOf, items, format, default: usual, ...rest } = resolved(schema, schemas);
  const bounds = boundsInWords(rest);
  const more = `${bounds === '' ? '' : ` ${bounds}`}${usual === undefined ? '' : `; default ${String(usual)}`}`;
  if (only !== undefined) return JSON.stringify(only);
  if (words !== undefined) return `one of ${words.join(', ')}${more}`;
  if (anyOf !== undefined) return anyOf.map((one) => typeInWords(one, schemas)).join(' or ');
  if (items !== undefined) return `list of ${typeInWords(items, schemas)}${more}`;
  if (format === 'date-time') return 'ISO 8601 date-time';
  if (format === 'uri') return 'URL';
  return `${type === 'string' ? 'text' : String(type)}${more}`;
}

/** Beyond these numbers there is nothing that JSON tells apart: nobody set such a bound. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

function boundsInWords(schema: Bounds): string {
  const from = Math.max(schema.minimum ?? -UNBOUNDED, -UNBOUNDED);
  const to = Math.min(schema.maximum ?? UNBOUNDED, UNBOUNDED);
  const within = [
    ...(from === -UNBOUNDED ? [] : [`from ${from}`]),
    ...(to === UNBOUNDED ? [] : [`to ${to}`]),
    ...(schema.maxLength === undefined ? [] : [`of ${schema.minLength ?? 0} to ${schema.maxLength} characters`]),
    ...(schema.maxItems === undefined ? [] : [`with ${schema.minItems ?? 0} to ${schema.maxItems} items`]),
  ];
  return within.join(' ');
}

type Bounds = Readonly<
  Partial<Record<'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'minItems' | 'maxItems', number | undefined>>
>;
