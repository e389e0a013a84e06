import { TransactionError } from '../../../errors.ts';
import { boundToHere } from '../../../host/own-context.ts';
import type { PostgresConnection } from './connections.ts';
import { NestedTransactions } from './nested-transactions.ts';

export interface LentConnection {
  readonly connection: PostgresConnection;
  /** Rejects further statements. `thrown` is the error of the function. */
  readonly takeBack: (thrown?: unknown) => void;
  /** The error that ended the connection. */
  readonly lostBy: () => unknown;
  /** The function tried to end the transaction, or left its own open. */
  readonly refusal: () => TransactionError | null;
  readonly isAsking: () => boolean;
  /** The function sent a statement. */
  readonly isUsed: () => boolean;
}

type Given = readonly unknown[];
type Callback = (failure: unknown, result?: unknown) => void;

/** ORMs call these at the end of their transaction. hookbox itself returns the connection. */
const GIVES_BACK = new Set<PropertyKey>(['release', 'end']);

/** The server has ended the connection, also by a time-out. */
const ENDED = /^(08...|57P0.|25P03|25P04)$/;

/** Calls run on the connection itself, because `pg` writes to `this`. */
export function lent(connection: PostgresConnection): LentConnection {
  const nested = new NestedTransactions();
  let isOver = false;
  let refusal: TransactionError | null = null;
  let lostBy: unknown;
  let unanswered = 0;
  let isUsed = false;

  const failed = (failure: unknown): void => {
    if (lostBy === undefined && ENDED.test(codeOf(failure))) lostBy = failure;
  };
  const ended = (failure: Error): void => {
    lostBy ??= failure;
  };
  connection.on('error', ended);

  function query(call: () => unknown): unknown {
    const answer = call();
    if (!(answer instanceof Promise)) return answer;
    unanswered += 1;
    const over = (): void => {
      unanswered -= 1;
    };
    answer.then(over, (failure: unknown) => {
      over();
      failed(failure);
    });
    return answer;
  }

  function requested(call: (...given: Given) => unknown, given: Given): unknown {
    isUsed = true;
    const send = (...changed: Given): unknown => query(() => Reflect.apply(call, connection, changed));
    const [statement] = given;
    const text = textOf(statement);
    const changed = text === null ? null : nested.changed(text, isBare(given));
    if (changed === null) return send(...given);
    const callback = callbackOf(given);
    if (changed instanceof TransactionError) {
      if (changed.code === 'ENDED_EARLY') refusal ??= changed;
      return refused(changed, statement, callback, connection);
    }
    if (isSubmittable(statement)) {
      changed.undo();
      return refused(nested.asObject(), statement, null, connection);
    }
    const simple = typeof statement === 'string' ? {} : { ...Object(statement), name: undefined };
    const sent = { ...simple, text: changed.text, values: undefined, callback: undefined };
    if (callback !== null) {
      const settled: Callback = (failure, result) => {
        if (failure) changed.undo();
        callback(failure, result);
      };
      return send(sent, settled);
    }
    const answer = send(sent);
    if (answer instanceof Promise) answer.catch(changed.undo);
    return answer;
  }

  const handed: PostgresConnection = new Proxy(connection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'constructor') return value;
      return new Proxy(value, {
        apply(call, _, given: Given) {
          if (GIVES_BACK.has(name)) return givenBack(name, given);
          if (isOver) throw new Error(OVER);
          if (name === 'query') return requested(call as (...given: Given) => unknown, given.map(inContext));
          const answer: unknown = Reflect.apply(call, target, given);
          return answer === target ? handed : answer;
        },
      });
    },
  });
  return {
    connection: handed,
    takeBack(thrown) {
      isOver = true;
      failed(thrown);
      connection.removeListener('error', ended);
    },
    lostBy: () => lostBy,
    refusal: () => refusal ?? nested.left(),
    isUsed: () => isUsed,
    isAsking: () => unanswered > 0 || Reflect.get(connection, 'readyForQuery') === false,
  };
}

function codeOf(failure: unknown): string {
  return failure instanceof Error ? String(Reflect.get(failure, 'code')) : '';
}

function textOf(statement: unknown): string | null {
  if (typeof statement === 'string') return statement;
  if (typeof statement !== 'object' || statement === null) return null;
  const text: unknown = Reflect.get(statement, 'text');
  if (typeof text === 'string') return text;
  const cursor: unknown = Reflect.get(statement, 'cursor');
  return typeof cursor === 'object' ? textOf(cursor) : null;
}

/** Without parameters, it may contain several statements. */
function isBare([statement, values]: Given): boolean {
  const own: unknown =
    typeof statement === 'object' && statement !== null ? Reflect.get(statement, 'values') : undefined;
  return ![values, own].some((each) => Array.isArray(each) && each.length > 0);
}

function isSubmittable(statement: unknown): statement is object {
  return typeof statement === 'object' && statement !== null && typeof Reflect.get(statement, 'submit') === 'function';
}

function callbackOf(given: Given): Callback | null {
  const [statement] = given;
  const own: unknown =
    typeof statement === 'object' && statement !== null ? Reflect.get(statement, 'callback') : undefined;
  const callback = [...given.slice(1), own].find((each) => typeof each === 'function');
  return callback === undefined ? null : (callback as Callback); // as `pg` calls it
}

/** Rejects as `pg` does before it sends a query. An unawaited promise does not end the process. */
function refused(why: TransactionError, statement: unknown, callback: Callback | null, connection: unknown): unknown {
  if (callback !== null) {
    queueMicrotask(() => callback(why));
    return undefined;
  }
  if (!isSubmittable(statement)) {
    const rejected = Promise.reject(why);
    rejected.catch(() => {});
    return rejected;
  }
  const tell: unknown = Reflect.get(statement, 'handleError');
  queueMicrotask(() => {
    if (typeof tell === 'function')
      Reflect.apply(tell, statement, [why, Reflect.get(Object(connection), 'connection')]);
  });
  return statement;
}

function givenBack(name: PropertyKey, [callback]: Given): unknown {
  if (name === 'release') return undefined;
  if (typeof callback !== 'function') return Promise.resolve();
  queueMicrotask(callback as () => void);
  return undefined;
}

/** `pg` would call back in the context in which the connection was opened. */
function inContext(given: unknown): unknown {
  return typeof given === 'function' ? boundToHere(given as () => unknown) : given;
}

const OVER =
  'The function in ctx.transaction has ended, so its client is closed and the query was not sent. Await every query ' +
  'before the function returns.';
