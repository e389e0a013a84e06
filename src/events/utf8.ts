// ignoreBOM keeps a BOM in the text, where JSON.parse refuses it: what is read is exactly what was signed.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of bytes that are UTF-8; `null` for any others. */
export function utf8Text(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
