import { TransactionError } from '../../../errors.ts';

interface Changed {
  readonly text: string;
  readonly undo: () => void;
}

/** Counts across transactions, because two savepoints of one name would hide each other. */
let savepoints = 0;

/**
 * Turns nested transactions into savepoints, because an ORM's `transaction()` sends BEGIN and COMMIT. Rejects
 * statements that would end hookbox's transaction.
 */
export class NestedTransactions {
  /** the savepoints of the open transactions, after the statements sent so far */
  #open: readonly number[] = [];
  readonly #neverBegun = new Set<number>();

  /**
   * @param isBare - the text has no parameters, so it may contain several statements
   * @returns the text to send instead; `null` for the text itself; an error if the text must not be sent
   */
  changed(text: string, isBare: boolean): Changed | TransactionError | null {
    const { controls, of } = controlStatements(text);
    // Postgres rejects several statements with parameters.
    if (controls.length === 0 || (!isBare && of > 1)) return null;
    const before = this.#open;
    const open = [...before];
    let changed = '';
    let at = 0;
    for (const { from, to, name, control } of controls) {
      let instead: string;
      if (control.does === 'begin') {
        if (control.asks !== null) return refusal('NOT_SENT', `${name} … ${control.asks} ${OTHER_MODE}`);
        savepoints += 1;
        open.push(savepoints);
        instead = `SAVEPOINT hookbox_nested_${savepoints}`;
      } else {
        const savepoint = control.does === 'leave' ? undefined : open.pop();
        if (savepoint === undefined) return refusal('ENDED_EARLY', `${name} ${ENDED_EARLY}`);
        instead = `${control.does === 'commit' ? 'RELEASE' : 'ROLLBACK TO'} SAVEPOINT hookbox_nested_${savepoint}`;
      }
      changed += text.slice(at, from) + instead;
      at = to;
    }
    this.#open = open;
    const begun = open.filter((savepoint) => !before.includes(savepoint));
    const ended = before.filter((savepoint) => !open.includes(savepoint));
    return { text: changed + text.slice(at), undo: () => this.#undo(begun, ended) };
  }

  /** An object that sends itself, such as a cursor, has a fixed text. */
  asObject(): TransactionError {
    return refusal('NOT_SENT', AS_OBJECT);
  }

  /** The function has left its own transaction open. */
  left(): TransactionError | null {
    return this.#open.length === 0 ? null : refusal('ENDED_EARLY', LEFT_OPEN);
  }

  #undo(begun: readonly number[], ended: readonly number[]): void {
    for (const savepoint of begun) this.#neverBegun.add(savepoint);
    const open = new Set([...ended, ...this.#open]);
    this.#open = [...open].filter((savepoint) => !this.#neverBegun.has(savepoint)).toSorted((a, b) => a - b);
  }
}

function refusal(code: 'ENDED_EARLY' | 'NOT_SENT', message: string): TransactionError {
  return new TransactionError(code, message);
}

const ENDED_EARLY =
  'was not sent, and nothing is committed. hookbox itself commits when your function returns, and rolls back if the function throws an error. Remove the statement.';

const OTHER_MODE =
  'was not sent: the transaction of ctx.transaction is always READ COMMITTED and READ WRITE, and a transaction ' +
  'that begins inside it becomes a savepoint. Lock rows that must not change with SELECT … FOR UPDATE.';

const AS_OBJECT =
  'BEGIN, COMMIT or ROLLBACK was not sent: in ctx.transaction, pass it to query() as a string or { text }, not as an object ' +
  'of another class.';

const LEFT_OPEN =
  'The function in ctx.transaction began a nested transaction and did not end it. Nothing was committed. Send ' +
  'COMMIT or ROLLBACK before the function returns, or remove BEGIN.';

type Control =
  | { readonly does: 'begin'; readonly asks: string | null }
  | { readonly does: 'commit' | 'rollback' }
  /** impossible inside another transaction */
  | { readonly does: 'leave' };

interface ControlStatement {
  readonly from: number;
  readonly to: number;
  /** `COMMIT`, `PREPARE TRANSACTION` */
  readonly name: string;
  readonly control: Control;
}

const MAY_CONTROL = /\b(?:begin|start|commit|end|rollback|abort|prepare)\b/i;

/** Excludes savepoints. `of`: the number of all statements. */
function controlStatements(text: string): {
  readonly controls: readonly ControlStatement[];
  readonly of: number;
} {
  if (!MAY_CONTROL.test(text)) return { controls: [], of: 0 };
  const statements = statementsOf(text);
  const controls = statements.flatMap(({ words, from, to }) => {
    const control = controlOf(words);
    return control === null ? [] : [{ from, to, name: nameOf(words, control), control }];
  });
  return { controls, of: statements.length };
}

function nameOf(words: readonly string[], { does }: Control): string {
  return (does === 'leave' || words[0] === 'START' ? words.slice(0, 4) : words.slice(0, 1)).join(' ');
}

/** A savepoint cannot have these. */
const ASKS = /SERIALIZABLE|REPEATABLE READ|READ ONLY/;

function controlOf(words: readonly string[]): Control | null {
  const [first = '', second = ''] = words;
  const said = words.join(' ');
  if (first === 'BEGIN' || said.startsWith('START TRANSACTION')) {
    return { does: 'begin', asks: ASKS.exec(said)?.[0] ?? null };
  }
  if (said.startsWith('PREPARE TRANSACTION')) return { does: 'leave' };
  const isCommit = first === 'COMMIT' || first === 'END';
  const isRollback = first === 'ROLLBACK' || first === 'ABORT';
  // COMMIT PREPARED concerns another transaction, and ROLLBACK TO a savepoint.
  if ((!isCommit && !isRollback) || second === 'PREPARED') return null;
  if (/^\w+( WORK| TRANSACTION)? TO\b/.test(said)) return null;
  if (said.endsWith(' AND CHAIN')) return { does: 'leave' };
  return { does: isCommit ? 'commit' : 'rollback' };
}

interface Statement {
  readonly words: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** Enough for `START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`. */
const MOST_WORDS = 10;

/** A doubled quotation mark counts as two texts. */
const TOKEN =
  /(?<blank>\s+|--[^\n\r]*)|(?<comment>\/\*)|[eE]'(?:[^'\\]+|\\[^]|'')*'?|'[^']*'?|"[^"]*"?|(?<dollar>\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|\d[\w.]*|[^]/guy;

function statementsOf(text: string): readonly Statement[] {
  const statements: Statement[] = [];
  let words: string[] = [];
  let hasOther = false;
  let from = -1;
  let to = 0;
  let parentheses = 0;
  /** the depth in BEGIN ATOMIC … END of a function, where CASE also has an END */
  let blocks = 0;
  const end = (): void => {
    if (from !== -1) statements.push({ words, from, to });
    words = [];
    hasOther = false;
    from = -1;
    blocks = 0;
  };
  TOKEN.lastIndex = 0;
  for (let token = TOKEN.exec(text); token !== null; token = TOKEN.exec(text)) {
    const { blank, comment, dollar, word } = token.groups ?? {};
    if (blank !== undefined) continue;
    if (comment !== undefined) {
      TOKEN.lastIndex = afterComment(text, token.index);
      continue;
    }
    if (token[0] === ';' && parentheses <= 0 && blocks <= 0) {
      end();
      continue;
    }
    if (from === -1) from = token.index;
    if (dollar !== undefined) TOKEN.lastIndex = afterText(text, token.index + dollar.length, dollar);
    to = TOKEN.lastIndex;
    if (token[0] === '(') parentheses += 1;
    if (token[0] === ')') parentheses -= 1;
    if (word === undefined) {
      hasOther ||= token[0] !== ',';
      continue;
    }
    const capitals = word.toUpperCase();
    if (words[0] === 'CREATE' && /^(BEGIN|CASE|END)$/.test(capitals)) {
      if (capitals === 'BEGIN' || blocks > 0) blocks += capitals === 'END' ? -1 : 1;
    }
    if (!hasOther && words.length < MOST_WORDS) words.push(capitals);
  }
  end();
  return statements;
}

/** Comments may be nested. */
function afterComment(text: string, from: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = from;
  let depth = 0;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  return text.length;
}

function afterText(text: string, from: number, tag: string): number {
  const at = text.indexOf(tag, from);
  return at === -1 ? text.length : at + tag.length;
}
