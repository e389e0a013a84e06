import type { ClaimRequest, Scope } from '../work.ts';

/** How many events of each type one claim may still take, where types have bounds of their own. */
export class Room {
  readonly #types: Scope['types'];
  readonly #left: Map<string, number>;

  constructor({ types, room = {} }: Pick<ClaimRequest, 'types' | 'room'>) {
    this.#types = types;
    this.#left = new Map(Object.entries(room));
  }

  isFor(type: string | null): boolean {
    return (this.#left.get(this.#nameOf(type)) ?? Infinity) > 0;
  }

  take(type: string | null): void {
    const name = this.#nameOf(type);
    const left = this.#left.get(name);
    if (left !== undefined) this.#left.set(name, left - 1);
  }

  /** What to look for: the types that there is room for, or every one but some. */
  typesWithRoom(): { readonly types: Scope['types']; readonly except: readonly string[] } {
    const isOpen = (type: string): boolean => this.isFor(type);
    if (this.#types !== '*') return { types: this.#types.filter(isOpen), except: [] };
    const named = [...this.#left.keys()].filter((type) => type !== '*');
    if ((this.#left.get('*') ?? Infinity) <= 0) return { types: named.filter(isOpen), except: [] };
    return { types: '*', except: named.filter((type) => !isOpen(type)) };
  }

  /** A type without a bound of its own has that of all others. */
  #nameOf(type: string | null): string {
    return type !== null && this.#left.has(type) ? type : '*';
  }
}
