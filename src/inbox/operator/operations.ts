import type { Acts } from './acts.ts';
import type { Audit } from './audit.ts';
import type { Counts } from './counts.ts';
import type { Marks } from './marks.ts';
import type { Pauses } from './pauses.ts';
import type { Removal } from './removal.ts';
import type { Search } from './search.ts';
import type { Transfer } from './transfer.ts';
import type { Waits } from './waits.ts';

/**
 * The part of an inbox that `hookbox/ops` uses. An inbox without this part can receive and process events, but
 * operators cannot see its events.
 */
export interface Operations extends Search, Acts, Audit, Removal, Transfer, Counts, Marks, Waits, Pauses {}
