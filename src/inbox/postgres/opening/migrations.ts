import { audit } from './schema/02-audit.ts';
import { bulks } from './schema/05-bulks.ts';
import { cleared } from './schema/13-cleared.ts';
import { counts } from './schema/03-counts.ts';
import { foundCrashes } from './schema/12-found-crashes.ts';
import { handling } from './schema/01-handling.ts';
import { retryNow } from './schema/06-retry-now.ts';
import { heardBulks } from './schema/14-heard-bulks.ts';
import { holding } from './schema/11-holding.ts';
import { leases } from './schema/16-leases.ts';
import { marks } from './schema/09-marks.ts';
import { marksByEndpoint } from './schema/15-marks-by-endpoint.ts';
import { optionsByType } from './schema/07-options-by-type.ts';
import { processors } from './schema/08-processors.ts';
import type { Migration } from './schema/migration.ts';
import { pauses } from './schema/10-pauses.ts';
import { search } from './schema/04-search.ts';

/**
 * Numbered and named; within a major version they only add. Texts are compared byte by byte (`COLLATE "C"`), whatever the
 * database's own collation is.
 */
export const migrations: readonly Migration[] = [
  handling,
  audit,
  counts,
  search,
  bulks,
  retryNow,
  optionsByType,
  processors,
  marks,
  pauses,
  holding,
  foundCrashes,
  cleared,
  heardBulks,
  marksByEndpoint,
  leases,
];
