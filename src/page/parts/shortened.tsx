import { oneLine } from '../../printable.ts';
import { isBlank, StoredText } from './stored-text.tsx';

const LONGEST = 1_000;
/** What is left of the beginning, however long the end is: the kind of an entity. */
const LEAST_BEGINNING = 5;
/** So much of the end stands also where there is not even room for what is left. */
const LEAST_END = 6;

/**
 * A name in one line: what is longer is cut in its middle, as its end tells it apart, and is told whole beside it. What follows
 * the last colon is not cut where there is room for it: in `order:mer_7:ord_42` that is the order.
 */
export function Shortened({ text, atMost }: { readonly text: string; readonly atMost: number }) {
  const letters = [...oneLine(text, LONGEST)];
  if (letters.length <= LEAST_END || isBlank(letters.join(''))) return <StoredText text={text} />;
  if (letters.length <= atMost) return <Name letters={letters} />;
  const colon = letters.lastIndexOf(':');
  const own = colon < 0 ? 0 : letters.length - 1 - colon;
  const end = Math.max(Math.floor(atMost / 3), Math.min(own, atMost - 1 - LEAST_BEGINNING));
  const begin = atMost - end - 1;
  return (
    <span title={letters.join('')}>
      <Name letters={[...letters.slice(0, begin), '…', ...letters.slice(-end)]} />
    </span>
  );
}

/** In two parts, so that a list can cut the first of them alone. */
function Name({ letters }: { readonly letters: readonly string[] }) {
  return (
    <bdi class="name">
      <span>{letters.slice(0, -LEAST_END).join('')}</span>
      <span class="end">{letters.slice(-LEAST_END).join('')}</span>
    </bdi>
  );
}
