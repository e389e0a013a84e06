import { boundToHere } from '../../../host/own-context.ts';
import type { PostgresConnection } from './client.ts';

/** A connection in the hands of the merchant's function. */
export interface LentConnection {
  readonly connection: PostgresConnection;
  /** Nothing more is asked through it: it is somebody else's soon. */
  readonly takeBack: () => void;
}

/** With these others would be given it while a transaction of ours is open on it. */
const GIVES_AWAY = new Set<PropertyKey>(['release', 'end']);

/** Calls reach the connection itself, as `pg` writes to `this`. */
export function lent(connection: PostgresConnection): LentConnection {
  let isOver = false;
  const handed: PostgresConnection = new Proxy(connection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'constructor') return value;
      return new Proxy(value, {
        apply(call, _, given) {
          if (isOver) throw new Error(OVER);
          if (GIVES_AWAY.has(name)) throw new Error(`${String(name)}() ${KEPT}`);
          const answer: unknown = Reflect.apply(call, target, name === 'query' ? given.map(inContext) : given);
          return answer === target ? handed : answer;
        },
      });
    },
  });
  return {
    connection: handed,
    takeBack() {
      isOver = true;
    },
  };
}

/** `pg` calls back in the context in which the connection was opened. */
function inContext(given: unknown): unknown {
  return typeof given === 'function' ? boundToHere(given as () => unknown) : given;
}

const KEPT =
  'was called on the client of ctx.transaction. hookbox gives it back by itself when the transaction is over, and others would ' +
  'be given it in the midst of that. Leave the call out.';

const OVER =
  'The function given to ctx.transaction has ended, and its client is no longer its own: nothing was sent. Await every query ' +
  'before the function returns.';
