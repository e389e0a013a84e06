/** A command, or another text that is used elsewhere; the script adds a button that copies it. */
export function Copyable({ text }: { readonly text: string }) {
  return (
    <p class="copyable">
      <code>{text}</code>{' '}
      <button type="button" data-copy hidden>
        Copy
      </button>
    </p>
  );
}
