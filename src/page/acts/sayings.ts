/** What actions come to, by code, in words. */
export type Sayings = Readonly<Record<string, (figures: readonly number[]) => string>>;

/** Writes what is to be said into a URL, and reads it there. */
export interface Flash<Code extends string> {
  /** A path with what is to be said there. */
  readonly withFlash: (path: string, code: Code, ...figures: readonly number[]) => string;
  /** The sentence for a URL, or `null`. */
  readonly flashOf: (url: URL) => string | null;
}

/**
 * The page after an action says its result. It travels in the URL as a code and figures, because a text from
 * a URL would let anybody who makes a link put words on the page.
 */
export function sayings<S extends Sayings>(said: S): Flash<keyof S & string> {
  return {
    withFlash(path, code, ...figures) {
      const query = new URLSearchParams({ done: code, ...(figures.length > 0 && { figures: figures.join('.') }) });
      return `${path}?${query.toString()}`;
    },
    flashOf({ searchParams }) {
      const code = searchParams.get('done') ?? '';
      const figures = searchParams.get('figures') ?? '';
      const say = Object.hasOwn(said, code) ? said[code] : undefined;
      if (say === undefined || !/^[\d.]{0,60}$/.test(figures)) return null;
      return say(figures === '' ? [] : figures.split('.').map(Number));
    },
  };
}
