const STEP = 3;
const HEIGHT = 20;

/** Bars for steps of equal length, as one path, because a list has hundreds of them. */
export function Sparkline({ counts, label }: { readonly counts: readonly number[]; readonly label: string }) {
  const most = Math.max(...counts);
  const width = counts.length * STEP;
  const bars = counts.flatMap((count, n) => {
    const height = Math.max(2, Math.round((count / most) * (HEIGHT - 1)));
    return count === 0 ? [] : `M${n * STEP + 1} ${HEIGHT}v-${height}`;
  });
  return (
    <svg class="spark" role="img" aria-label={label} viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT}>
      <title>{label}</title>
      <path class="base" d={`M0 ${HEIGHT - 0.5}h${width}`} />
      {bars.length > 0 && <path d={bars.join('')} />}
    </svg>
  );
}
