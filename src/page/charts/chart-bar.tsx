/** How an attempt, or an event, ended; or that a delivery was not taken in. */
export type Ending = 'processed' | 'failed' | 'dead' | 'rejected';

/** A bar in the colour of what it counts, with its pattern over it. */
export function Bar({
  chart,
  outcome,
  ...place
}: {
  /** the id of the chart, which has the patterns */
  readonly chart: string;
  readonly outcome: Ending | 'stored';
  readonly x: string;
  readonly width: string;
  readonly y: number;
  readonly height: number;
}) {
  if (place.height === 0) return <></>;
  return (
    <>
      <rect class={outcome} {...place} />
      {outcome !== 'processed' && outcome !== 'stored' && <rect fill={`url(#${chart}-${outcome})`} {...place} />}
    </>
  );
}

/** Stripes for what failed, a grid for what is dead, lines for what was rejected. */
export function Patterns({ id }: { readonly id: string }) {
  return (
    <defs>
      <pattern id={`${id}-failed`} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line class="pattern" x1="1" x2="1" y1="0" y2="5" />
      </pattern>
      <pattern id={`${id}-dead`} width="4" height="4" patternUnits="userSpaceOnUse">
        <line class="pattern" x1="0" x2="4" y1="1" y2="1" />
        <line class="pattern" x1="1" x2="1" y1="0" y2="4" />
      </pattern>
      <pattern id={`${id}-rejected`} width="4" height="4" patternUnits="userSpaceOnUse">
        <line class="pattern" x1="0" x2="4" y1="1" y2="1" />
      </pattern>
      <pattern
        id={`${id}-unfinished`}
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(-45)"
      >
        <line class="faint" x1="1" x2="1" y1="0" y2="6" />
      </pattern>
    </defs>
  );
}
