/** How an attempt, or an event, ended. */
export type Ending = 'processed' | 'failed' | 'dead';

/** A bar in the colour of its outcome, with the pattern of its outcome over it. */
export function Bar({
  chart,
  outcome,
  ...place
}: {
  /** the id of the chart, which has the patterns */
  readonly chart: string;
  readonly outcome: Ending;
  readonly x: string;
  readonly width: string;
  readonly y: number;
  readonly height: number;
}) {
  if (place.height === 0) return <></>;
  return (
    <>
      <rect class={outcome} {...place} />
      {outcome !== 'processed' && <rect fill={`url(#${chart}-${outcome})`} {...place} />}
    </>
  );
}

/** Stripes for what failed, a grid for what is dead. */
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
    </defs>
  );
}
