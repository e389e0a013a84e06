/** What has become of an event since a bulk acted on it. */
export const bulkFates = [
  'processed',
  'processing',
  /** pending: it waits for a processor, an older event of its entity, or the end of a pause */
  'waiting',
  /** pending, and has failed since it was rerun; one that was retried now had failed before */
  'retrying',
  'dead',
  'ignored',
  'discarded',
  /** erased since: nothing more is known of it */
  'erased',
] as const;

/** The current state of an event that a bulk action acted on. */
export type BulkFate = (typeof bulkFates)[number];

/** What came of some of a bulk's events, in the order of arrival. */
export interface OutcomePart {
  readonly counts: Readonly<Partial<Record<BulkFate, number>>>;
  /** on so many of these somebody has acted again since */
  readonly again: number;
  /** where to go on; `null` at the end */
  readonly next: number | null;
}
