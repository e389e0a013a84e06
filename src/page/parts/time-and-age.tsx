import { timestamp, relative } from '../../ops/words/format.ts';

/** A time in UTC, and how long ago that is or in how long it will be. */
export function Time({ at, now }: { readonly at: Date; readonly now: Date }) {
  return (
    <>
      <time datetime={at.toISOString()}>{timestamp(at)}</time> <span class="muted">({relative(at, now)})</span>
    </>
  );
}
