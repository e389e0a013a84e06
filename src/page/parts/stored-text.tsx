import { oneLine } from '../../printable.ts';

/** as long as a reason may be */
const LONGEST = 1_000;

const NOTHING_TO_SEE = /^[\s\p{Default_Ignorable_Code_Point}]*$/u;

/** Whether a text shows nothing: a link of it could be neither seen nor heard. */
export function isBlank(text: string): boolean {
  return NOTHING_TO_SEE.test(text);
}

/** A text that others wrote, kept from changing the direction or the lines of what stands around it. */
export function StoredText({ text, atMost }: { readonly text: string; readonly atMost?: number }) {
  const line = oneLine(text, atMost);
  return isBlank(line) ? <span class="muted">(blank)</span> : <bdi>{line}</bdi>;
}

/** The name of an entity, which breaks between its parts before it breaks within one. */
export function EntityName({ name }: { readonly name: string }) {
  const line = oneLine(name, 80);
  if (isBlank(line)) return <StoredText text={name} />;
  const parts = line.split(/(?<=:)/);
  return (
    <bdi>
      {parts.map((part, n) => (
        <>
          {n > 0 && <wbr />}
          {part}
        </>
      ))}
    </bdi>
  );
}

/** A text that others wrote, where there is little room: what is longer is cut, and opens. */
export function LongText({ text, atMost }: { readonly text: string; readonly atMost: number }) {
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

const LONGEST_NAME = 1_000;
/** What is left of the beginning, however long the end is: the kind of an entity. */
const LEAST_BEGINNING = 5;
/**
 * A name in one line: what is longer is cut in its middle, as its end tells it apart, and is told whole beside it. What follows
 * the last colon is not cut where there is room for it: in `order:mer_7:ord_42` that is the order.
 */
export function Shortened({ text, atMost }: { readonly text: string; readonly atMost: number }) {
  const { name, whole } = shortened(text, atMost);
  if (name === whole) return <StoredText text={text} />;
  return (
    <span title={whole}>
      <bdi>{name}</bdi>
    </span>
  );
}

/** A name as `Listed` shows it, in one piece, for screen readers. */
export function listedName(text: string, atMost: number): string {
  return shortened(text, atMost).name;
}

/** Of a name that is no longer, no part gives way. */
const SHORT = 16;

/**
 * The same in two parts, so that a list that has less room than this takes it from the first. Each part is a box, which assistive
 * technology reads as a word: a link of it has to be named whole.
 */
export function Listed({
  text,
  atMost,
  end = 6,
}: {
  readonly text: string;
  readonly atMost: number;
  /** so much of its end stands there, however narrow the column is */
  readonly end?: number;
}) {
  const { name, whole } = shortened(text, atMost);
  if (isBlank(whole)) return <StoredText text={text} />;
  const letters = [...name];
  if (letters.length <= SHORT) {
    return (
      <bdi class="name" title={whole}>
        <span>{name}</span>
      </bdi>
    );
  }
  return (
    <bdi class="name" title={whole}>
      <span>{letters.slice(0, -end).join('')}</span>
      <span class="end">{letters.slice(-end).join('')}</span>
    </bdi>
  );
}

function shortened(text: string, atMost: number): { readonly name: string; readonly whole: string } {
  const whole = oneLine(text, LONGEST_NAME);
  const letters = [...whole];
  // By what was written, too: what does not print is longer where it is shown by its number.
  if (text.length <= atMost || letters.length <= atMost) return { name: whole, whole };
  const colon = letters.lastIndexOf(':');
  const own = colon < 0 ? 0 : letters.length - 1 - colon;
  const end = Math.max(Math.floor(atMost / 3), Math.min(own, atMost - 1 - LEAST_BEGINNING));
  const begin = atMost - end - 1;
  return { name: `${letters.slice(0, begin).join('')}…${letters.slice(-end).join('')}`, whole };
}

/** ` at shop-b`, behind a name; nothing where the endpoint is the usual one. */
export function AtEndpoint({ endpoint }: { readonly endpoint: string }) {
  if (endpoint === 'default') return <></>;
  return (
    <>
      {' '}
      at <StoredText text={endpoint} atMost={40} />
    </>
  );
}
