import { delay, performance } from '../../host/real-timers.ts';
import { duration } from './exchange.ts';
import { fault, outcome, unknown, type Advice } from './judge-answers.ts';
import { PROBES, probeNames, type ProbeName } from './probe-names.ts';
import { duplicates, duplicatesAtOnce } from './probes/duplicates.ts';
import {
  foreignSignature,
  signatureForm,
  tamperedBody,
  tamperedSignatures,
  unsigned,
} from './probes/forged-deliveries.ts';
import { keepAlive } from './probes/keep-alive.ts';
import { forgedMalformedJson, malformedJson } from './probes/malformed-json.ts';
import { otherMethods } from './probes/other-methods.ts';
import type { Probe } from './probes/probe.ts';
import { invalidUtf8, rawBytes } from './probes/raw-bytes.ts';
import { sized } from './probes/large-bodies.ts';
import { slowBody } from './probes/slow-body.ts';
import { storedFirst } from './probes/stored-first.ts';
import { additionalFields, everyType, unknownType, valid } from './probes/valid-deliveries.ts';
import { burst, inTime } from './probes/burst-and-in-time.ts';
import { UnreachableError, whyUnreachable } from '../shared/unreachable.ts';
import { marksOf, verdictOf, type CheckReport, type ProbeOutcome, type ProbeResult } from './check-report.ts';
import { CheckRun } from './check-run.ts';

/** What to check, and with what help. */
export interface CheckOptions {
  /** the signing secret of the endpoint */
  readonly secret: string;
  /** an address with `{id}` in it that answers what became of an event: `{"rows": n, "count": n}`, or a number */
  readonly effects?: string | undefined;
  /** only these, and `valid`, without which nothing can be judged */
  readonly only?: readonly ProbeName[] | undefined;
  readonly skip?: readonly ProbeName[] | undefined;
  /** what is answered later is a fault; 10,000 as interface 6.4 says */
  readonly deadlineMs?: number | undefined;
  /** how long an effect may take to be seen; 1,500 unless set */
  readonly settleMs?: number | undefined;
  /** sent with every delivery, beside those of the service or in place of one */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** ends the run; the report then holds what was found so far */
  readonly signal?: AbortSignal | undefined;
  /** called before the first delivery, with how the id of every event begins */
  readonly onStart?: (ids: string) => void;
  readonly onResult?: (result: ProbeResult) => void;
}

const DEADLINE_MS = 10_000;
const SETTLE_MS = 1_500;

const RUN: Readonly<Record<ProbeName, Probe>> = {
  valid,
  'every-type': everyType,
  'unknown-type': unknownType,
  'additional-fields': additionalFields,
  'raw-bytes': rawBytes,
  'invalid-utf8': invalidUtf8,
  unsigned,
  'tampered-body': tamperedBody,
  'tampered-signature': tamperedSignatures,
  'foreign-signature': foreignSignature,
  'signature-form': signatureForm,
  'malformed-json': malformedJson,
  'forged-malformed-json': forgedMalformedJson,
  'other-methods': otherMethods,
  'stored-first': storedFirst,
  duplicates,
  'duplicates-at-once': duplicatesAtOnce,
  'one-mebibyte': sized(1),
  'two-mebibytes': sized(2),
  'slow-body': slowBody,
  'keep-alive': keepAlive,
  burst,
  'in-time': inTime,
};

/**
 * Delivers to an endpoint as the service does, on good days and bad ones, and tells what it does right and wrong. The
 * endpoint is a black box: what cannot be seen from outside is `unknown`, never a pass or a fault.
 *
 * @throws UnreachableError when no connection can be made
 * @throws ConfigurationError for a secret that cannot be used
 */
export async function checkEndpoint(url: string | URL, options: CheckOptions): Promise<CheckReport> {
  const { secret, effects, deadlineMs = DEADLINE_MS, settleMs = SETTLE_MS, headers = {}, signal } = options;
  const never = new AbortController().signal;
  const settings = { url: new URL(url), secret, effects, deadlineMs, settleMs, headers };
  const run = new CheckRun({ ...settings, signal: signal ?? never });
  const why = await whyUnreachable(run.url);
  if (why !== null)
    throw new UnreachableError(
      `hookbox cannot reach ${run.url.href}: ${why}. Check that the endpoint is running at this address.`,
    );

  options.onStart?.(run.ids);
  const names = chosen(options);
  const probes: ProbeResult[] = [];
  let hindrance: Advice | null = null;
  try {
    for (const name of names) {
      const began = performance.now();
      const isSeen = name === 'in-time' && run.isLateAlone();
      const found: ProbeOutcome = hindrance === null || isSeen ? await probed(run, name) : notJudged(hindrance);
      const ms = Math.round(performance.now() - began);
      const result = { name, title: PROBES[name], verdict: verdictOf(found), ...found, ms };
      probes.push(result);
      options.onResult?.(result);
      hindrance ??= await hindranceAfter(run, result);
    }
  } catch (failure) {
    if (!run.signal.aborted) throw failure;
  } finally {
    run.close();
  }
  const marks = marksOf(probes);
  const interrupted = probes.length < names.length;
  const full = !interrupted && marks.passed === names.length && names.length === probeNames.length;
  return { url: run.url.href, ids: run.ids, deadlineMs, interrupted, marks, full, probes };
}

function chosen({ only, skip = [] }: CheckOptions): readonly ProbeName[] {
  return probeNames.filter((name) => name === 'valid' || ((only?.includes(name) ?? true) && !skip.includes(name)));
}

function notJudged(hindrance: Advice): ProbeOutcome {
  return outcome([unknown('nothing', 'nothing', hindrance)]);
}

async function probed(run: CheckRun, name: ProbeName): Promise<ProbeOutcome> {
  const { waitedMs } = run.retries;
  const found = withWait(await RUN[name](run), run.retries.waitedMs - waitedMs);
  const gone = await gonePatiently(run);
  if (gone === null) return found;
  const crash = fault(`the deliveries of ${name}`, `afterwards ${gone}`, {
    why: 'The endpoint has stopped. Every delivery fails until you start it again.',
    mend: 'Find the exception in the log of the endpoint. Catch errors in each request, and return 500.',
  });
  return { ...found, findings: [...found.findings, crash] };
}

function withWait(found: ProbeOutcome, waitedMs: number): ProbeOutcome {
  if (waitedMs === 0) return found;
  const waited = `waited ${duration(waitedMs)} in all, as the endpoint asked`;
  return { ...found, note: found.note === undefined ? waited : `${found.note}; ${waited}` };
}

const COMES_BACK_MS = 3_000;

/** Why the endpoint cannot be reached any more; one that restarts at once is given the time. */
async function gonePatiently({ url, signal }: CheckRun): Promise<string | null> {
  const giveUpAt = performance.now() + COMES_BACK_MS;
  for (;;) {
    const why = await whyUnreachable(url);
    if (why === null || performance.now() > giveUpAt) return why;
    await delay(200, undefined, { signal });
  }
}

/** Why nothing more can be judged. */
async function hindranceAfter(run: CheckRun, { name, verdict }: ProbeResult): Promise<Advice | null> {
  const gone = verdict === 'pass' ? null : await whyUnreachable(run.url);
  if (gone !== null) {
    return {
      why: `The endpoint stopped during the probe ${name}: ${gone}.`,
      mend: `Fix the fault that ${name} found, start the endpoint, and check again.`,
    };
  }
  if (name !== 'valid' || verdict === 'pass') return null;
  if (run.isLateAlone()) {
    return {
      why: 'The endpoint answers a valid delivery too late, and would answer the other deliveries too late as well.',
      mend: 'Make the endpoint answer faster, then check again. To run the other probes anyway, use a longer --deadline.',
    };
  }
  const mend =
    verdict === 'unknown'
      ? 'Lift the rate limit, then check again.'
      : 'Fix the fault that the probe "valid" found, then check again.';
  return { why: 'The endpoint does not accept a valid delivery, so hookbox cannot judge the other probes.', mend };
}
