import type { Mark } from '../../inbox/rules/marks.ts';
import { oneLine } from '../../printable.ts';
import { markInWords } from '../../ops/words/change-words.ts';
import { shortTime } from '../../ops/words/format.ts';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time-and-age.tsx';
import { across, type Span } from './chart-frame.tsx';

/** So many of the newest have a line: more would be a wall. */
const MOST_LINES = 12;
const MOST_LISTED = 6;
/** Room for the name of the newest, through which no line and no dot runs. */
const NAME_ROW = 16;
const DOT = 4;
/** Room above the plots for that and for the dots. */
export const MARK_ROW = NAME_ROW + 2 * DOT + 1;

/** A line from its dot to the bottom where something began. */
export function MarkLines({
  marks,
  steps,
  stepMs,
  now,
  height,
}: Span & { readonly marks: readonly Mark[]; readonly height: number }) {
  const first = steps[0]?.at.getTime() ?? 0;
  return (
    <>
      {marks.slice(-MOST_LINES).map((mark, n, shown) => {
        const part = (mark.at.getTime() - first) / stepMs / steps.length;
        const x = across(part, 1);
        return (
          <g class={`began ${mark.kind}`}>
            <title>
              {shortTime(mark.at, now)}: {markInWords(mark)}
            </title>
            <line x1={x} x2={x} y1={NAME_ROW} y2={height} />
            <circle cx={x} cy={NAME_ROW + DOT} r={DOT} />
            {/* Of all it would be on top of one another; beneath, each has its name. */}
            {n === shown.length - 1 && (
              <text x={x} dx={part > 0.5 ? -8 : 8} y={12} text-anchor={part > 0.5 ? 'end' : 'start'}>
                {mark.kind === 'release' ? oneLine(mark.name, 16) : 'new secret'}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

/** The same in words, the newest first. */
export function MarkList({ marks, now }: { readonly marks: readonly Mark[]; readonly now: Date }) {
  if (marks.length === 0) return <></>;
  return (
    <ul class="marks" id="marks">
      {marks
        .slice(-MOST_LISTED)
        .toReversed()
        .map((mark) => (
          <li>
            <svg class="chart key" width="10" height="14" aria-hidden="true">
              <g class={`began ${mark.kind}`}>
                <circle cx="5" cy="8" r="4" />
              </g>
            </svg>{' '}
            <StoredText text={markInWords(mark)} /> <Time at={mark.at} now={now} />
          </li>
        ))}
    </ul>
  );
}
