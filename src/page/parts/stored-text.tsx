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
