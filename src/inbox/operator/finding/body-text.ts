import { JsonTokens, unquoted } from '../../../events/json.ts';
import { PathWalk, stepsOf, treeOf, type Branch } from '../../../events/json-paths.ts';
import { isSameNumber, STRETCH_CHARACTERS } from './bodies.ts';

export interface WantedText {
  readonly lowerCase: string;
  readonly except: Branch | null;
}

export function wantedText(text: string, except: readonly string[]): WantedText {
  return { lowerCase: text.toLowerCase(), except: except.length === 0 ? null : treeOf(except.map(stepsOf)) };
}

/** Searches the strings and numbers of a valid JSON text, ignoring case. Names are not searched. */
export class BodyTextSearch {
  readonly #tokens: JsonTokens;
  readonly #wanted: string;
  readonly #walk: PathWalk | null;
  readonly #mayFit: boolean;

  constructor(text: string, { lowerCase, except }: WantedText) {
    this.#tokens = new JsonTokens(text);
    this.#wanted = lowerCase;
    this.#walk = except === null ? null : new PathWalk(except);
    // Escapes, and zeros of numbers, can write the same value in several ways.
    const isAsWritten = !text.includes('\\') && !/^-?\d/.test(lowerCase);
    this.#mayFit = !isAsWritten || text.toLowerCase().includes(lowerCase);
  }

  /** `null` after each stretch of the text: call it again. */
  next(): boolean | null {
    const tokens = this.#tokens;
    if (!this.#mayFit) return false;
    const rest = tokens.end + STRETCH_CHARACTERS;
    while (tokens.next()) {
      const { kind } = tokens;
      const place = this.#walk?.at(tokens) ?? null;
      const isContainer = kind === '{' || kind === '[';
      if (isContainer && place === 'end') tokens.leave();
      else if (isContainer) this.#walk?.enter(tokens);
      else if (place !== 'end' && this.#fits()) return true;
      if (tokens.end > rest) return null;
    }
    return false;
  }

  #fits(): boolean {
    const { kind } = this.#tokens;
    if (kind === 'text') return unquoted(this.#tokens.written()).toLowerCase().includes(this.#wanted);
    if (kind !== 'number') return false;
    const written = this.#tokens.written().toLowerCase();
    return written.includes(this.#wanted) || isSameNumber(written, this.#wanted);
  }
}
