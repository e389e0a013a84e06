import { plural } from '../../ops/words/format.ts';

const STEP = 3;
const HEIGHT = 20;

/** Bars for steps of equal length; one path, because a list has hundreds of these. */
export function Sparkline({ counts, span }: { readonly counts: readonly number[]; readonly span: string }) {
  const most = Math.max(...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const width = counts.length * STEP;
  const bars = counts.flatMap((count, n) => {
    const height = Math.max(2, Math.round((count / most) * (HEIGHT - 1)));
    return count === 0 ? [] : `M${n * STEP + 1} ${HEIGHT}v-${height}`;
  });
  return (
    <svg
      class="spark"
      role="img"
      aria-label={`${plural(total, 'event')} in ${span}`}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      width={width}
      height={HEIGHT}
    >
      <path class="base" d={`M0 ${HEIGHT - 0.5}h${width}`} />
      {bars.length > 0 && <path d={bars.join('')} />}
    </svg>
  );
}
