import { probeNames } from './probe-names.ts';
import type { CheckReport, ProbeResult } from './check-endpoint.ts';
import type { Finding, Verdict } from './findings.ts';
import { plural } from '../../ops/words/format.ts';
import { print, styled, tell } from '../shared/output.ts';

const MARKS: Readonly<Record<Verdict, readonly [mark: string, style: 'green' | 'red' | 'yellow' | 'dim']>> = {
  pass: ['pass', 'green'],
  fault: ['FAULT', 'red'],
  warning: ['warn', 'yellow'],
  unknown: ['?', 'dim'],
};
const MARK_WIDTH = 5;
const NAME_WIDTH = Math.max(...probeNames.map(({ length }) => length));
const LINE_WIDTH = 110;

/** One line, as soon as its probe is done. */
export function printResult({ name, title, verdict, note }: ProbeResult): void {
  const rest = note === undefined ? '' : styled('dim', ` (${note})`);
  print(`${marked(verdict)}  ${name.padEnd(NAME_WIDTH)}  ${title}${rest}`);
}

function marked(verdict: Verdict): string {
  const [mark, style] = MARKS[verdict];
  return styled(style, mark.padEnd(MARK_WIDTH));
}

/** What is wrong, the worst first; what has one cause stands together. */
export function printFindings({ probes }: CheckReport): void {
  for (const verdict of ['fault', 'warning', 'unknown'] as const) {
    for (const { names, finding, others } of grouped(probes, verdict)) {
      print('', `${marked(verdict)}  ${styled('bold', listed(names))}`);
      if (finding.sent !== finding.received) {
        field('sent', finding.sent);
        field('received', finding.received + (others > 0 ? ` (and ${others} more like it)` : ''));
      }
      field('why', finding.why);
      field('mend', finding.mend);
    }
  }
}

const MOST_NAMES = 5;

function listed(names: readonly string[]): string {
  return names.length > MOST_NAMES ? `${names.length} probes` : names.join(', ');
}

interface Group {
  readonly names: string[];
  readonly finding: Finding;
  others: number;
}

function grouped(probes: readonly ProbeResult[], verdict: Finding['verdict']): Iterable<Group> {
  const groups = new Map<string, Group>();
  for (const { name, findings } of probes) {
    for (const finding of findings.filter((one) => one.verdict === verdict)) {
      // Unknowns of one cause are told once; each probe with a fault has its own part.
      const key = JSON.stringify([verdict === 'unknown' ? '' : name, finding.why, finding.mend]);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { names: [name], finding, others: 0 });
      else if (group.names.includes(name)) group.others += 1;
      else group.names.push(name);
    }
  }
  return groups.values();
}

const LABEL_WIDTH = 9;
const INDENT = MARK_WIDTH + 2;

function field(label: string, text: string): void {
  const lines = wrapped(text, LINE_WIDTH - INDENT - LABEL_WIDTH - 2);
  for (const [n, line] of lines.entries()) {
    print(`${' '.repeat(INDENT)}${styled('dim', (n === 0 ? label : '').padEnd(LABEL_WIDTH))}  ${line}`);
  }
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** The marks, for people. */
export function printSummary({ marks, full, interrupted, probes }: CheckReport): void {
  const count = (verdict: Verdict): number => probes.filter((probe) => probe.verdict === verdict).length;
  const parts = [
    `${marks.passed} of ${marks.judged} judged probes passed`,
    ...(count('fault') > 0 ? [plural(count('fault'), 'fault')] : []),
    ...(count('warning') > 0 ? [plural(count('warning'), 'warning')] : []),
    ...(count('unknown') > 0 ? [`${count('unknown')} unknown`] : []),
  ];
  tell('', `${interrupted ? 'Interrupted. ' : ''}${full ? 'Full marks: ' : ''}${parts.join('; ')}.`);
}
