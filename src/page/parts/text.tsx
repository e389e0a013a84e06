import { oneLine } from '../../printable.ts';
import { timestamp, relative, shortTime } from '../../ops/words/format.ts';

const LONGEST = 1_000;

const NOTHING_TO_SEE = /^[\s\p{Default_Ignorable_Code_Point}]*$/u;

/** A link with such a text would be invisible, also to screen readers. */
export function isBlank(text: string): boolean {
  return NOTHING_TO_SEE.test(text);
}

interface TextParts {
  readonly text: string;
  readonly atMost: number;
}

/** Cannot change the direction or the lines of the text around it. */
export function StoredText({ text, atMost }: { readonly text: string; readonly atMost?: number }) {
  const line = oneLine(text, atMost);
  return isBlank(line) ? <span class="muted">(blank)</span> : <bdi>{line}</bdi>;
}

export const NO_REASON = <span class="muted">no reason given</span>;

export function Reason({ reason, atMost }: { readonly reason: string | null; readonly atMost: number }) {
  return reason === null ? NO_REASON : <StoredText text={reason} atMost={atMost} />;
}

export function breaking(name: string, after: RegExp) {
  return name.split(after).map((part, n) => (
    <>
      {n > 0 && <wbr />}
      {part}
    </>
  ));
}

export function LongText({ text, atMost }: TextParts) {
  if (text.length <= atMost) return <StoredText text={text} />;
  return (
    <details class="long">
      <summary>
        <StoredText text={text} atMost={atMost} />
      </summary>
      <StoredText text={text} atMost={LONGEST} />
    </details>
  );
}

/** The shortest beginning; it has the kind of an entity. */
const LEAST_BEGINNING = 5;

export function Shortened({ text, atMost }: TextParts) {
  const { name, whole } = shortened(text, atMost);
  if (name === whole) return <StoredText text={text} />;
  return (
    <span title={whole}>
      <bdi>{name}</bdi>
    </span>
  );
}

export function listedName(text: string, atMost: number): string {
  return shortened(text, atMost).name;
}

const SHORT = 16;

/** In a narrow list, the first part shrinks. Screen readers read each part as a word, so a link needs a label. */
export function Listed({
  text,
  atMost,
  end = 6,
  title,
}: TextParts & {
  readonly end?: number;
  /** the text in full */
  readonly title?: string;
}) {
  const { name, whole } = shortened(text, atMost);
  if (isBlank(whole)) return <StoredText text={text} />;
  const letters = [...name];
  const isShort = letters.length <= SHORT;
  return (
    <bdi class="name" title={title === undefined ? whole : oneLine(title, LONGEST)}>
      <span>{isShort ? name : letters.slice(0, -end).join('')}</span>
      {!isShort && <span class="end">{letters.slice(-end).join('')}</span>}
    </bdi>
  );
}

/** The part after the last colon, such as the order in `order:mer_7:ord_42`, stays whole if there is room. */
function shortened(text: string, atMost: number): { readonly name: string; readonly whole: string } {
  const whole = oneLine(text, LONGEST);
  const letters = [...whole];
  // A character that does not print is shown by its number, which is longer.
  if (text.length <= atMost || letters.length <= atMost) return { name: whole, whole };
  const colon = letters.lastIndexOf(':');
  const own = colon < 0 ? 0 : letters.length - 1 - colon;
  const end = Math.max(Math.floor(atMost / 3), Math.min(own, atMost - 1 - LEAST_BEGINNING));
  const begin = atMost - end - 1;
  return { name: `${letters.slice(0, begin).join('')}…${letters.slice(-end).join('')}`, whole };
}

export function AtEndpoint({ endpoint }: { readonly endpoint: string }) {
  if (endpoint === 'default') return <></>;
  return (
    <>
      {' '}
      at <StoredText text={endpoint} atMost={40} />
    </>
  );
}

export function Copyable({ text }: { readonly text: string }) {
  return (
    <p class="copyable">
      <code>{text}</code>{' '}
      <button type="button" class="held" data-copy hidden>
        Copy
      </button>
    </p>
  );
}

export function Time({ at, now }: { readonly at: Date; readonly now: Date }) {
  return (
    <>
      <time datetime={at.toISOString()}>{timestamp(at)}</time> <span class="muted">({relative(at, now)})</span>
    </>
  );
}

/** For a narrow column: the time of today, or the day and the time. */
export function ShortTime({ at, now }: { readonly at: Date; readonly now: Date }) {
  return (
    <time datetime={at.toISOString()} title={`${timestamp(at)} (${relative(at, now)})`}>
      {shortTime(at, now)}
    </time>
  );
}
