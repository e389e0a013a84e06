import { isInstance } from '../errors.ts';

/**
 * The part of [Standard Schema](https://standardschema.dev) version 1 that hookbox uses; zod, valibot and ArkType have it.
 *
 * @typeParam Input - the type that the schema accepts
 * @typeParam Output - the type that the schema returns
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The result of checking a value with a schema: the output, or the issues. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One issue that a schema reports. hookbox does not use its message, which may quote the value. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Some schemas are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false;
  const standard: unknown = Reflect.get(value, '~standard');
  if (typeof standard !== 'object' || standard === null) return false;
  return Reflect.get(standard, 'version') === 1 && typeof Reflect.get(standard, 'validate') === 'function';
}

export type Fit = { readonly fits: true; readonly value: unknown } | { readonly fits: false; readonly why: string };

/** @throws TypeError for an invalid result */
export function fitOf(answer: unknown, of: string, root: string): Fit {
  if (typeof answer !== 'object' || answer === null) throw noAnswer(of);
  const { issues, value } = answer as { readonly issues?: unknown; readonly value?: unknown };
  if (issues === undefined || issues === null) return { fits: true, value };
  if (!Array.isArray(issues)) throw noAnswer(of);
  return { fits: false, why: whyNot(issues, root) };
}

export function isToCome(answer: unknown): answer is PromiseLike<unknown> {
  return isInstance(answer, Promise) || (typeof answer === 'object' && answer !== null && 'then' in answer);
}

function noAnswer(of: string): TypeError {
  return new TypeError(
    `The schema of ${of} returned neither a value nor issues, but Standard Schema requires one of them.`,
  );
}

const MOST_ISSUES = 10;
/** A name from the schema; other keys may be a customer's text. */
const PLAIN_KEY = /^[a-z_$][\w$-]{0,39}$/i;
/** Such as `invalid_type` or `min_length`. */
const PLAIN_CODE = /^[a-z]{1,20}(_[a-z]{1,20}){0,3}$/;
const KINDS = new Set(['string', 'number', 'boolean', 'array', 'object', 'null', 'int', 'date', 'bigint', 'record']);

/** Never contains a value. */
function whyNot(issues: readonly unknown[], root: string): string {
  const said = new Set(issues.slice(0, MOST_ISSUES).map((issue) => issueText(issue, root)));
  if (said.size === 0) return `${root}: does not fit`;
  const more = issues.length - MOST_ISSUES;
  return [...said].join('; ') + (more > 0 ? `; and ${more} more` : '');
}

function issueText(issue: unknown, root: string): string {
  const path = [root, ...keysOf(fieldOf(issue, 'path')).map(keyText)].join('.');
  // zod has a code, valibot a type.
  const code = [fieldOf(issue, 'code'), fieldOf(issue, 'type')].find((each) => isPlain(each, PLAIN_CODE));
  const expected = fieldOf(issue, 'expected');
  const kind = typeof expected === 'string' && KINDS.has(expected) && expected !== code ? `, expected ${expected}` : '';
  return `${path}: ${code === undefined ? 'does not fit' : code}${kind}`;
}

function keysOf(path: unknown): readonly unknown[] {
  if (!Array.isArray(path)) return [];
  return path.map((segment: unknown) => (typeof segment === 'object' ? fieldOf(segment, 'key') : segment));
}

function keyText(key: unknown): string {
  if (typeof key === 'number') return String(key);
  return isPlain(key, PLAIN_KEY) ? key : '…';
}

function isPlain(value: unknown, form: RegExp): value is string {
  return typeof value === 'string' && form.test(value);
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined;
}
