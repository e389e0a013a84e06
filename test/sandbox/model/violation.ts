export type PromiseName =
  | 'answers are what the state says'
  | 'stock is what nobody has taken'
  | 'orders go as they may'
  | 'charged once, and given back'
  | 'carts are what their clients made them'
  | 'each event once, in order';

export class Violation extends Error {
  override readonly name = 'Violation';
  readonly promise: PromiseName;

  constructor(promise: PromiseName, message: string) {
    super(`${promise}: ${message}`);
    this.promise = promise;
  }
}
