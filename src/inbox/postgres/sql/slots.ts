/**
 * Whoever moves an event holds the lock of its slot meanwhile, so that what is decided about the queue of an entity is still
 * true when it is written. Rows of a table of their own, made once, are what is locked: rows for entities would have to be
 * made first, and two who make the same one wait for each other. Entities that share a slot wait for each other's
 * transactions at most, and claims wait for nobody: they pass over what is locked.
 */
export const SLOTS = 4_096;

/** The slot of an event: that of its entity, or one of its own. */
export function slotOf(endpoint: string, entity: string | null, id: string): number {
  return entity === null ? hash(`${endpoint}\0\0${id}`) : hash(`${endpoint}\0${entity}`);
}

/** FNV-1a, which is the same in every version and on every machine. */
function hash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % SLOTS;
}
