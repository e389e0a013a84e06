import { sqliteInbox as threaded } from '../../src/inbox/sqlite/sqlite-inbox.ts';

/**
 * The inbox without threads, which is there at once: for tests of what does not depend on where the disk is waited for.
 * What does is tested both ways (`test/inbox/threads`).
 */
export const sqliteInbox: typeof threaded = (source, options) => threaded(source, { thread: false, ...options });
