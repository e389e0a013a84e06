import { delay, performance } from '../../host/real-timers.ts';
import { plural } from '../../ops/words/format.ts';
import { filled } from '../shared/command.ts';
import { interruption } from '../shared/interruption.ts';
import { targetOf, withScheme } from '../shared/options.ts';
import { EXIT, print, printJson, styled, tell, usageError, type ExitCode } from '../shared/output.ts';
import { secretOf, type SecretOptions } from '../shared/secret.ts';
import { givenHeaders } from '../shared/sending.ts';
import { UnreachableError, whyUnreachable } from '../shared/unreachable.ts';
import { ADVICE, type Advice } from './advice.ts';
import { CheckRun, duration, type RunSettings } from './check-run.ts';
import { fault, outcome, unknown, type ProbeOutcome, type Verdict } from './findings.ts';
import { probeNames, PROBES, type ProbeName } from './probe-names.ts';
import { RUN } from './probes.ts';

interface CheckCommandOptions extends SecretOptions {
  readonly effects?: string;
  readonly only?: readonly ProbeName[];
  readonly skip?: readonly ProbeName[];
  readonly deadline: number;
  readonly header?: readonly string[];
  readonly allowRemote?: boolean;
  readonly json?: boolean;
}

export async function checkAndReport(url: string, options: CheckCommandOptions): Promise<ExitCode | void> {
  const { effects, only, skip, deadline: deadlineMs, header, allowRemote = false, json = false } = options;
  const target = targetOf(url, allowRemote);
  if (effects !== undefined) {
    if (!effects.includes('{id}'))
      throw usageError('The URL of --effects must contain {id}, which hookbox replaces with the event id.');
    targetOf(effects.replaceAll('{id}', 'id'), allowRemote);
  }
  if (skip?.includes('valid') === true) throw usageError('--skip cannot include valid: the other probes depend on it.');
  const report = await checkEndpoint(target, {
    effects: effects === undefined ? undefined : withScheme(effects),
    only,
    skip,
    deadlineMs,
    secret: await secretOf(options),
    headers: givenHeaders(header),
    signal: interruption(),
    onStart: (ids) =>
      tell(
        `Checking ${target.href}. The ids of the test events begin with ${ids}. Afterwards, discard the test events that ` +
          'are dead or pending.',
      ),
    ...(!json && { onResult: printResult }),
  });
  if (json) printJson(report);
  else printFindings(report);
  printSummary(report);
  if (process.exitCode === EXIT.interrupted) return;
  if (report.probes.some(({ verdict }) => verdict === 'fault')) return EXIT.failed;
  if (report.probes.every(({ verdict }) => verdict === 'unknown')) return EXIT.partial;
}

export interface CheckOptions extends Partial<Omit<RunSettings, 'url' | 'secret'>> {
  readonly secret: string;
  readonly only?: readonly ProbeName[] | undefined;
  readonly skip?: readonly ProbeName[] | undefined;
  /** gets the beginning of the ids of all test events */
  readonly onStart?: (ids: string) => void;
  readonly onResult?: (result: ProbeResult) => void;
}

interface ProbeResult extends ProbeOutcome {
  readonly name: ProbeName;
  readonly title: string;
  readonly verdict: Verdict;
  readonly ms: number;
}

export type CheckReport = Awaited<ReturnType<typeof checkEndpoint>>;

/** A property that is not visible from outside is `unknown`, never a pass or a fault. */
export async function checkEndpoint(address: string | URL, options: CheckOptions) {
  const { secret, effects, deadlineMs = 10_000, settleMs = 1_500, headers = {}, only, skip = [] } = options;
  const { signal = new AbortController().signal } = options;
  const url = new URL(address);
  const run = new CheckRun({ url, secret, effects, deadlineMs, settleMs, headers, signal });
  const why = await whyUnreachable(url);
  if (why !== null)
    throw new UnreachableError(
      `hookbox cannot reach ${url.href}: ${why}. Check that the endpoint is running at this address.`,
    );

  options.onStart?.(run.ids);
  const isChosen = (name: ProbeName): boolean => (only?.includes(name) ?? true) && !skip.includes(name);
  const names = probeNames.filter((name) => name === 'valid' || isChosen(name));
  const probes: ProbeResult[] = [];
  let hindrance: Advice | null = null;
  try {
    for (const name of names) {
      const began = performance.now();
      const isSeen = name === 'in-time' && run.isLateAlone();
      const found: ProbeOutcome =
        hindrance === null || isSeen ? await probed(run, name) : outcome([unknown('nothing', 'nothing', hindrance)]);
      const ms = Math.round(performance.now() - began);
      const result = { name, title: PROBES[name], verdict: verdictOf(found), ...found, ms };
      probes.push(result);
      options.onResult?.(result);
      hindrance ??= await hindranceAfter(run, result);
    }
  } catch (failure) {
    if (!signal.aborted) throw failure;
  } finally {
    run.effects?.close();
  }
  const marks = {
    passed: countOf(probes, 'pass'),
    judged: probes.length - countOf(probes, 'unknown'),
    probes: probes.length,
  };
  const interrupted = probes.length < names.length;
  const full = marks.passed === probeNames.length;
  return { url: url.href, ids: run.ids, deadlineMs, interrupted, marks, full, probes };
}

const WORST_FIRST = ['fault', 'warning', 'unknown'] as const;

function verdictOf({ findings }: ProbeOutcome): Verdict {
  return WORST_FIRST.find((verdict) => findings.some((finding) => finding.verdict === verdict)) ?? 'pass';
}

function countOf(probes: readonly ProbeResult[], verdict: Verdict): number {
  return probes.filter((probe) => probe.verdict === verdict).length;
}

async function probed(run: CheckRun, name: ProbeName): Promise<ProbeOutcome> {
  const { waitedMs: before } = run.retries;
  const { findings, note } = await RUN[name](run);
  const waitedMs = run.retries.waitedMs - before;
  const notes = [
    ...(note === undefined ? [] : [note]),
    ...(waitedMs === 0 ? [] : [`waited ${duration(waitedMs)} in all, as the endpoint asked`]),
  ];
  const gone = await gonePatiently(run);
  const crash = gone === null ? null : fault(`the deliveries of ${name}`, `afterwards ${gone}`, ADVICE.stopped);
  return outcome([...findings, crash], notes.length === 0 ? undefined : notes.join('; '));
}

/** Returns why the endpoint cannot be reached now. An endpoint that restarts gets three seconds. */
async function gonePatiently({ settings: { url, signal } }: CheckRun): Promise<string | null> {
  const giveUpAt = performance.now() + 3_000;
  for (;;) {
    const why = await whyUnreachable(url);
    if (why === null || performance.now() > giveUpAt) return why;
    await delay(200, undefined, { signal });
  }
}

async function hindranceAfter(run: CheckRun, { name, verdict }: ProbeResult): Promise<Advice | null> {
  const gone = verdict === 'pass' ? null : await whyUnreachable(run.settings.url);
  if (gone !== null) {
    return [
      `The endpoint stopped during the probe ${name}: ${gone}.`,
      `Fix the fault that ${name} found, start the endpoint, and check again.`,
    ];
  }
  if (name !== 'valid' || verdict === 'pass') return null;
  if (run.isLateAlone()) return ADVICE.lateAlone;
  return [
    'The endpoint does not accept a valid delivery, so hookbox cannot judge the other probes.',
    verdict === 'unknown'
      ? 'Lift the rate limit, then check again.'
      : 'Fix the fault that the probe "valid" found, then check again.',
  ];
}

const MARKS: Readonly<Record<Verdict, readonly [mark: string, style: 'green' | 'red' | 'yellow' | 'dim']>> = {
  pass: ['pass', 'green'],
  fault: ['FAULT', 'red'],
  warning: ['warn', 'yellow'],
  unknown: ['?', 'dim'],
};
const MARK_WIDTH = 5;
const NAME_WIDTH = Math.max(...probeNames.map(({ length }) => length));

function printResult({ name, title, verdict, note }: ProbeResult): void {
  const rest = note === undefined ? '' : styled('dim', ` (${note})`);
  print(`${marked(verdict)}  ${name.padEnd(NAME_WIDTH)}  ${title}${rest}`);
}

function marked(verdict: Verdict): string {
  const [mark, style] = MARKS[verdict];
  return styled(style, mark.padEnd(MARK_WIDTH));
}

const MOST_NAMES = 5;

function printFindings({ probes }: CheckReport): void {
  const all = probes.flatMap(({ name, findings }) => findings.map((finding) => ({ name, finding })));
  for (const verdict of WORST_FIRST) {
    const found = all.filter(({ finding }) => finding.verdict === verdict);
    // Unknown findings with the same cause form one group. Each probe with a fault forms its own.
    const groups = Map.groupBy(found, ({ name, finding: { why, mend } }) =>
      JSON.stringify([verdict === 'unknown' ? '' : name, why, mend]),
    );
    for (const group of groups.values()) {
      const names = [...new Set(group.map(({ name }) => name))];
      const others = group.length - names.length;
      const { sent, received, why, mend } = (group[0] as (typeof group)[number]).finding; // no group is empty
      const shown = names.length > MOST_NAMES ? `${names.length} probes` : names.join(', ');
      print('', `${marked(verdict)}  ${styled('bold', shown)}`);
      if (sent !== received) {
        printField('sent', sent);
        printField('received', received + (others > 0 ? ` (and ${others} more like it)` : ''));
      }
      printField('why', why);
      printField('mend', mend);
    }
  }
}

const LINE_WIDTH = 110;
const LABEL_WIDTH = 9;
const INDENT = MARK_WIDTH + 2;

function printField(label: string, text: string): void {
  for (const [n, line] of filled(text.split(' '), LINE_WIDTH - INDENT - LABEL_WIDTH - 2).entries()) {
    print(`${' '.repeat(INDENT)}${styled('dim', (n === 0 ? label : '').padEnd(LABEL_WIDTH))}  ${line}`);
  }
}

function printSummary({ marks, full, interrupted, probes }: CheckReport): void {
  const count = (verdict: Verdict): number => countOf(probes, verdict);
  const parts = [
    `${marks.passed} of ${marks.judged} judged probes passed`,
    ...(count('fault') > 0 ? [plural(count('fault'), 'fault')] : []),
    ...(count('warning') > 0 ? [plural(count('warning'), 'warning')] : []),
    ...(count('unknown') > 0 ? [`${count('unknown')} unknown`] : []),
  ];
  tell('', `${interrupted ? 'Interrupted. ' : ''}${full ? 'Full marks: ' : ''}${parts.join('; ')}.`);
}
