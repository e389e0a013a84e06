import { Copyable } from '../../../page/parts/act-form.tsx';
import { StoredText } from '../../../page/parts/stored-text.tsx';

/** A value that is shown this once; it stands in no URL. */
export function ShownOnce({
  value,
  what,
  note,
  example,
  back,
}: {
  readonly value: string;
  readonly what: string;
  readonly note: string;
  readonly example?: string;
  readonly back: { readonly href: string; readonly label: string };
}) {
  return (
    <section class="panel" id="shown-once">
      <p role="status">
        <StoredText text={what} atMost={240} />. <strong>Copy it now. It will not be shown again.</strong>
      </p>
      <Copyable text={value} />
      <p>{note}</p>
      {example !== undefined && <Copyable text={example} />}
      <p>
        <a href={back.href}>{back.label}</a>
      </p>
    </section>
  );
}
