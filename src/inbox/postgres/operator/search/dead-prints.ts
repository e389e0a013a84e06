/** What a dead event is grouped by, as its index has it. */
export const PRINT = 'coalesce(fingerprint, dead_reason)';
/** Dead events that somebody can still do something about: no tombstones. Every group has a name, so the condition leaves nothing out. */
export const DEAD_WITH_BODIES = `state = 'dead' AND NOT pruned AND ${PRINT} > ''`;
