/** What the histories are checked for; a failing check names the promise it breaks. */
export type PromiseName =
  | 'stored ⊇ acknowledged'
  | 'stored once'
  | 'effect exactly once'
  | 'one live lease an entity'
  | 'only the holder of a lease settles'
  | 'a kept step is not run again'
  | 'a lease that is renewed holds'
  | 'a run without a lease is told'
  | 'an attempt ends as its run did'
  | 'only its own endpoint'
  | 'order within an entity'
  | 'superseded tells the truth'
  | 'only the newest of a burst runs'
  | 'superseded only by a newer one'
  | 'suspects run one at a time'
  | 'dead only for a reason'
  | 'a paused type waits'
  | 'a type keeps its rate'
  | 'nothing stuck'
  | 'what is stored is found'
  | 'a closed process rests'
  | 'a stop is no crash'
  | 'the store agrees with the model';

export class Violation extends Error {
  override readonly name = 'Violation';
  readonly promise: PromiseName;

  constructor(promise: PromiseName, detail: string) {
    super(`${promise}: ${detail}`);
    this.promise = promise;
  }
}

export function must(condition: boolean, promise: PromiseName, detail: () => string): asserts condition {
  if (!condition) throw new Violation(promise, detail());
}
