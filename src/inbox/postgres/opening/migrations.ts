import { schema, type Migration } from './schema.ts';

/** In their order. Within a minor version the schema stays. */
export const migrations: readonly Migration[] = [schema];
