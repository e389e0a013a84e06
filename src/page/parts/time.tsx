import { moment, relative } from '../../ops/words/format.ts';

/** A moment in UTC, and how long ago that is or in how long it will be. */
export function Time({ at, now }: { readonly at: Date; readonly now: Date }) {
  return (
    <>
      <time datetime={at.toISOString()}>{moment(at)}</time> <span class="muted">({relative(at, now)})</span>
    </>
  );
}
