import { audit } from './schema/audit.ts';
import { bulks } from './schema/bulks.ts';
import { counts } from './schema/counts.ts';
import { handling } from './schema/handling.ts';
import { hurry } from './schema/hurry.ts';
import type { Migration } from './schema/migration.ts';
import { search } from './schema/search.ts';

/**
 * Numbered and named; within a major version they only add. Texts are compared byte by byte (`COLLATE "C"`), whatever the
 * database's own collation is.
 */
export const migrations: readonly Migration[] = [handling, audit, counts, search, bulks, hurry];
