import { expect } from 'vitest';

export type FieldType =
  | 'string'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'date-time'
  | 'object'
  | 'string or null'
  | readonly [FieldTable]
  | FieldTable;

export interface FieldTable {
  readonly [field: string]: FieldType;
}

export function expectFields(value: unknown, table: FieldTable, where = 'data'): void {
  expect(Object.keys(value as object).toSorted(), where).toEqual(Object.keys(table).toSorted());
  for (const [field, type] of Object.entries(table)) {
    expectType((value as Readonly<Record<string, unknown>>)[field], type, `${where}.${field}`);
  }
}

function expectType(value: unknown, type: FieldType, where: string): void {
  if (typeof type === 'object') {
    if (!Array.isArray(type)) return expectFields(value, type as FieldTable, where);
    expect(Array.isArray(value), `${where} is a list`).toBe(true);
    return (value as unknown[]).forEach((one, at) => expectFields(one, (type as [FieldTable])[0], `${where}.${at}`));
  }
  switch (type) {
    case 'integer':
      return expect(Number.isInteger(value), `${where} is an integer`).toBe(true);
    case 'date-time':
      return expect(value, where).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    case 'string or null':
      return expect(value === null || typeof value === 'string', where).toBe(true);
    case 'string':
    case 'number':
    case 'boolean':
    case 'object':
      return expect(typeof value, where).toBe(type);
  }
}
