import type { Command } from 'commander';
import { probeNames, PROBES, type ProbeName } from './probe-names.ts';
import { command } from '../shared/command.ts';
import { EXIT, usageError } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { collectedFrom, wholeNumber } from '../shared/option-values.ts';
import { printJson, tell } from '../shared/output.ts';
import { secretOf, withSecret, type SecretOptions } from '../shared/secret-option.ts';
import { withHeader } from '../shared/header-option.ts';
import { targetOf, withScheme } from '../shared/target-url.ts';

interface CheckCommandOptions extends SecretOptions {
  readonly effects?: string;
  readonly only?: readonly ProbeName[];
  readonly skip?: readonly ProbeName[];
  readonly deadline: number;
  readonly header?: readonly string[];
  readonly allowRemote?: boolean;
  readonly json?: boolean;
}

const MAX_DEADLINE_MS = 3_600_000;

export function checkCommand(): Command {
  const check = command('check', 'tell what a webhook endpoint, hookbox or any other, does right and wrong', [
    'hookbox check http://localhost:3000/webhooks',
    "hookbox check http://localhost:3000/webhooks --effects 'http://localhost:3000/effects/{id}'",
    'hookbox check http://localhost:3000/webhooks --only unsigned tampered-body --json',
  ])
    .argument('<url>', 'where deliveries are sent')
    .option(
      '--effects <url>',
      'address with {id} in it that answers {"rows": n, "count": n}: how often the event is stored, and how often its ' +
        'handler ran; or the larger number alone. Without it, only hookbox can be judged on stored-first and duplicates',
    )
    .option('--only <probe...>', 'run only these; valid always runs', collectedFrom(probeNames))
    .option('--skip <probe...>', 'leave these out', collectedFrom(probeNames))
    .option('--deadline <ms>', 'a later answer is a fault', wholeNumber(1, MAX_DEADLINE_MS), 10_000)
    .option('--allow-remote', 'check an endpoint on another machine')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', () => `\n${PROBES_HELP}\n\n${EVENTS_HELP}`);
  return withSecret(withHeader(check)).action(async (url: string, options: CheckCommandOptions) => {
    const target = targetOf(url, options.allowRemote === true);
    const settings = { ...settingsOf(options), secret: await secretOf(options) };
    const [{ checkEndpoint }, { givenHeaders }, { printFindings, printResult, printSummary }] = await Promise.all([
      import('./check-endpoint.ts'),
      import('../shared/sending/given-headers.ts'),
      import('./print-check-report.ts'),
    ]);
    const report = await checkEndpoint(target, {
      ...settings,
      headers: givenHeaders(options.header),
      signal: interruption(),
      onStart: (ids) =>
        tell(
          `Checking ${target.href} with events whose ids begin with ${ids}; discard afterwards what is left dead or waiting.`,
        ),
      ...(options.json !== true && { onResult: printResult }),
    });
    if (options.json === true) printJson(report);
    else printFindings(report);
    printSummary(report);
    if (process.exitCode === EXIT.interrupted) return;
    if (report.probes.some(({ verdict }) => verdict === 'fault')) process.exitCode = EXIT.failed;
    else if (report.probes.every(({ verdict }) => verdict === 'unknown')) process.exitCode = EXIT.partial;
  });
}

const WIDTH = Math.max(...probeNames.map(({ length }) => length));
const PROBES_HELP = `Probes:\n${probeNames.map((name) => `  ${name.padEnd(WIDTH)}  ${PROBES[name]}`).join('\n')}`;
const EVENTS_HELP = `Check a test endpoint: it handles these events as it handles real orders. Their ids begin with evt_check_, so that you
can find them, and discard what is left dead or waiting. An answer 429, or 503 with Retry-After, is tried again later; only burst judges it. An endpoint
that stores within a millisecond after its answer looks like one that stores first.
Exit codes: 0 no fault (warnings and unknowns do not count), 1 a fault, 3 a rate limit let no delivery in.`;

function settingsOf({ effects, only, skip, deadline, allowRemote }: CheckCommandOptions) {
  if (effects !== undefined) {
    if (!effects.includes('{id}')) throw usageError(`--effects needs {id}, the place of the event id, in its URL.`);
    targetOf(effects.replaceAll('{id}', 'id'), allowRemote === true);
  }
  if (skip?.includes('valid') === true) throw usageError('valid cannot be skipped: without it nothing can be judged.');
  return { effects: effects === undefined ? undefined : withScheme(effects), only, skip, deadlineMs: deadline };
}
