export const moves = [
  'stored → pending',
  'stored → dead(invalid)',
  'dead(invalid) → pending, replaced by a valid body',
  'pending → processing',
  'stored → processing',
  'processing → processed',
  'processing → processed, by its transaction',
  'processed, and its handler ends',
  'processed, and its lease runs out',
  'processing → pending, retry',
  'processing → pending, and its type is paused',
  'processing → pending, interrupted',
  'processing → pending, crashed',
  'processing → pending, killed while closing',
  'processing → dead(failed)',
  'processing → dead(crashed)',
  'processing → dead(invalid)',
  'pending → processed, superseded',
  'pending → ignored',
  'pending → discarded',
  'dead → discarded',
  'dead(failed) → pending, rerun',
  'dead(crashed) → pending, rerun',
  'dead(invalid) → pending, rerun',
  'ignored → pending, rerun',
  'discarded → pending, rerun',
  'processed → tombstone',
] as const;

export type Move = (typeof moves)[number];

/** A process may crash before each call takes effect, and before it gets the answer. */
export const calls = ['accept', 'claim', 'renew', 'settle', 'transaction', 'announce'] as const;

export class Tally {
  readonly moves = new Map<Move, number>(moves.map((move) => [move, 0]));
  readonly crashes = new Map<string, number>();
  readonly commands: number[] = [];

  count(move: Move): void {
    this.moves.set(move, (this.moves.get(move) ?? 0) + 1);
  }

  crashedAt(call: string): void {
    this.crashes.set(call, (this.crashes.get(call) ?? 0) + 1);
  }

  static sum(tallies: Iterable<Tally>, of: (tally: Tally) => number): number {
    return [...tallies].reduce((sum, tally) => sum + of(tally), 0);
  }

  get medianCommands(): number {
    return this.commands.toSorted((a, b) => a - b)[Math.floor(this.commands.length / 2)] ?? 0;
  }
}

export function table(tallies: ReadonlyMap<string, Tally>): string {
  const names = [...tallies.keys()];
  const row = (title: string, of: (tally: Tally) => number): string =>
    title.padEnd(52) + [...tallies.values()].map((tally) => String(of(tally)).padStart(12)).join('');
  return [
    ''.padEnd(52) + names.map((name) => name.padStart(12)).join(''),
    row('histories', ({ commands }) => commands.length),
    row('median commands', ({ medianCommands }) => medianCommands),
    ...moves.map((move) => row(move, (tally) => tally.moves.get(move) ?? 0)),
    ...calls.flatMap((call) => [
      row(`crash before ${call}`, ({ crashes }) => crashes.get(call) ?? 0),
      row(`crash after ${call}, before its answer`, ({ crashes }) => crashes.get(`${call} returns`) ?? 0),
    ]),
  ].join('\n');
}
