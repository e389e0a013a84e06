/** What a dead event is grouped by, as its index has it. */
export const PRINT = 'ifnull(fingerprint, dead_reason)';
export const DEAD = "hookbox_events INDEXED BY hookbox_events_dead WHERE state = 'dead' AND body IS NOT NULL";
/** Dead events that somebody can still do something about: no tombstones. Every group has a name, so the condition leaves nothing out. */
export const DEAD_WITH_BODIES = `${DEAD} AND ${PRINT} > ''`;
