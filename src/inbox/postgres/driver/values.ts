/**
 * Postgres' text has no U+0000, which ids, types and errors may have. It is written as U+0001 and a digit, and so is U+0001
 * itself, so that texts stay apart and, byte by byte, in their order.
 */
function toText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- that is what it is about
  return /[\0\u0001]/.test(text) ? text.replaceAll('\u0001', '\u00011').replaceAll('\0', '\u00010') : text;
}

/** What `toText` was given. */
function fromText(text: string): string {
  if (!text.includes('\u0001')) return text;
  // oxlint-disable-next-line no-control-regex -- that is what it is about
  return text.replaceAll(/\u0001([01])/g, (_, digit: string) => (digit === '0' ? '\0' : '\u0001'));
}

/** A parameter as it is sent: texts as `toText` writes them, alone and in arrays. */
export function toParameter(value: unknown): unknown {
  if (typeof value === 'string') return toText(value);
  return Array.isArray(value) ? value.map(toParameter) : value;
}

/** JSON that Postgres has made of columns, whose texts it does not decode. */
export function fromJson(json: string): unknown {
  return JSON.parse(json, (_, value: unknown) => (typeof value === 'string' ? fromText(value) : value));
}

const BOOL = 16;
const BYTEA = 17;
const INTEGERS = new Set([20, 21, 23, 26]);

/** Reads texts with `fromText`, and columns of other types, however the application has set up its `pg`: integers are numbers here, as all of ours are safe. */
export const types = {
  getTypeParser(oid: number): (text: string) => unknown {
    if (INTEGERS.has(oid)) return Number;
    if (oid === BOOL) return (text) => text === 't';
    return oid === BYTEA ? bytesOf : fromText;
  },
};

function bytesOf(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  // A role with bytea_output = escape: all but printable ASCII is written in octal.
  const latin = text.replaceAll(/\\(\\|[0-7]{3})/g, (_, code: string) =>
    code === '\\' ? '\\' : String.fromCharCode(Number.parseInt(code, 8)),
  );
  return Buffer.from(latin, 'latin1');
}
