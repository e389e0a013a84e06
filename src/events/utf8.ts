// Without `ignoreBOM` a byte order mark is skipped: JSON.parse refuses it, and it says nothing.
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The text of bytes that are UTF-8, without a byte order mark before it; `null` for any others. */
export function utf8Text(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
