/** Numbers with more characters are compared as they are written: nobody means them by another writing. */
const LONGEST_NUMBER = 1_000;

/** The text that a token of JSON means, if it is one. */
export function textOf(token: string | null): string | null {
  return token?.startsWith('"') === true ? (JSON.parse(token) as string) : null;
}

/** Whether what is written in a body reads as a value: a text by what it says, a number however it is written. */
export function readsAs(token: string | null, value: string): boolean {
  if (token === null) return false;
  if (token.startsWith('"')) return textOf(token) === value;
  return token === value || isSameNumber(token, value);
}

/** Whether two texts are the same number, however many decimals they are written with. Exact: nothing is rounded. */
export function isSameNumber(one: string, other: string): boolean {
  const number = plainNumber(one);
  return number !== null && number === plainNumber(other);
}

/** Digits without zeros around them, and the power of ten they are to be multiplied with; `null` for what is no number. */
function plainNumber(text: string): string | null {
  if (text.length > LONGEST_NUMBER) return null;
  const [, sign, whole, decimals = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,12}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const digits = (whole + decimals).replace(/^0+/, '');
  if (digits === '') return '0';
  let end = digits.length;
  // A pattern would try each run of zeros from each of its places.
  while (digits.endsWith('0', end)) end -= 1;
  const significant = digits.slice(0, end);
  return `${sign}${significant}e${Number(exponent) - decimals.length + digits.length - significant.length}`;
}
