import { oneLine } from '../../printable.ts';
import { StoredText } from './stored-text.tsx';

const LONGEST = 1_000;

/** A name in one line: what is longer is cut in its middle, as its end tells it apart, and is told whole beside it. */
export function Shortened({ text, atMost }: { readonly text: string; readonly atMost: number }) {
  const letters = [...oneLine(text, LONGEST)];
  if (letters.length <= atMost) return <StoredText text={text} />;
  const end = Math.floor(atMost / 3);
  const begin = atMost - end - 1;
  return (
    <span title={letters.join('')}>
      <bdi>{`${letters.slice(0, begin).join('')}…${letters.slice(-end).join('')}`}</bdi>
    </span>
  );
}
