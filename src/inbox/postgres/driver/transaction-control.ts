/** What a statement does with the transaction that it runs in. */
export type Control =
  | { readonly does: 'begin'; readonly asks: string | null }
  | { readonly does: 'commit' | 'rollback' }
  /** it cannot be done inside of another transaction */
  | { readonly does: 'leave' };

/** A statement that begins or ends a transaction. */
export interface ControlStatement {
  /** where it stands in the text, without what surrounds it */
  readonly from: number;
  readonly to: number;
  /** as messages name it: `COMMIT`, `PREPARE TRANSACTION` */
  readonly name: string;
  readonly control: Control;
}

const MAY_CONTROL = /\b(?:begin|start|commit|end|rollback|abort|prepare)\b/i;

/**
 * The statements of a text that begin or end a transaction, in their order; savepoints are none of them.
 *
 * @returns with how many statements there are in all
 */
export function controlStatements(text: string): {
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

/** What a savepoint cannot have: the transaction around it has begun with its own. */
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
  /** those that it begins with, in capitals */
  readonly words: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** As many as the longest that controls needs: `START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`. */
const MOST_WORDS = 10;

/**
 * Comments, texts, names in quotation marks, words, numbers and parameters, and any other character. A doubled quotation mark is two
 * texts side by side, which is the same here.
 */
const TOKEN =
  /(?<blank>\s+|--[^\n\r]*)|(?<comment>\/\*)|[eE]'(?:[^'\\]+|\\[^]|'')*'?|'[^']*'?|"[^"]*"?|(?<dollar>\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|\d[\w.]*|[^]/guy;

function statementsOf(text: string): readonly Statement[] {
  const statements: Statement[] = [];
  let words: string[] = [];
  let hasOther = false;
  let from = -1;
  let to = 0;
  let parentheses = 0;
  /** of the body of a function in SQL: BEGIN ATOMIC … END, where CASE has an END, too */
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

/** Comments may stand in one another. */
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
