/** What merchants' code may throw. */
export const ANYTHING_THROWN: readonly (readonly [what: string, thrown: unknown])[] = [
  ['an error', new Error('disk full')],
  ['a text', 'disk full'],
  ['undefined', undefined],
  ['null', null],
  ['a symbol', Symbol('x')],
  ['a function', () => 'x'],
  ['an object without a prototype', Object.create(null)],
  ['an object whose toString throws', { toString: fail }],
  ['an error whose message throws', Object.defineProperty(new Error('x'), 'message', { get: fail })],
];

function fail(): never {
  throw new Error('no');
}
