import { bytes as size, number } from '../../ops/words/format.ts';
import { printableLines } from '../../printable.ts';

const MAX_TEXT_BYTES = 256 * 1024;
const MAX_HEX_BYTES = 64 * 1024;
const HEX_LINE = 16;

/** A body as text. Characters that are not seen, or that turn others round, stand there by their number. */
export function RawText({ body }: { readonly body: Uint8Array }) {
  const text = Buffer.from(body.subarray(0, MAX_TEXT_BYTES)).toString('utf8');
  return (
    <>
      <Cut shown={MAX_TEXT_BYTES} of={body.byteLength} />
      {/* a pre is read by keyboard, so it can be scrolled to */}
      <pre class="raw" tabindex={0} aria-label="The body as text">
        {printableLines(text)}
      </pre>
    </>
  );
}

/** A body as bytes in hexadecimal, sixteen a line, with what is printable beside them. */
export function Hex({ body }: { readonly body: Uint8Array }) {
  return (
    <>
      <Cut shown={MAX_HEX_BYTES} of={body.byteLength} />
      <pre class="raw hex" tabindex={0} aria-label="The body in hexadecimal">
        {hexLines(body.subarray(0, MAX_HEX_BYTES)).join('\n')}
      </pre>
    </>
  );
}

function Cut({ shown, of }: { readonly shown: number; readonly of: number }) {
  if (of <= shown) return <></>;
  return (
    <p class="notice">
      The first {size(shown)} of {number(of)} bytes are shown. Download the body to see the rest.
    </p>
  );
}

/** `00000010  7b 22 69 64 …  |{"id…|` */
export function hexLines(body: Uint8Array): readonly string[] {
  const lines: string[] = [];
  for (let at = 0; at < body.byteLength; at += HEX_LINE) {
    const line = body.subarray(at, at + HEX_LINE);
    const digits = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const printable = Array.from(line, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join(
      '',
    );
    lines.push(`${at.toString(16).padStart(8, '0')}  ${digits.padEnd(HEX_LINE * 3 - 1)}  |${printable}|`);
  }
  return lines;
}
