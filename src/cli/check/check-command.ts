import type { Command } from 'commander';
import { probeNames, PROBES, type ProbeName } from './probe-names.ts';
import { nameList, command, GROUP, withNotes } from '../shared/command.ts';
import { EXIT, usageError, printJson, tell } from '../shared/output.ts';
import { interruption } from '../shared/interruption.ts';
import { collectedFrom, wholeNumber, withHeader, targetOf, withScheme } from '../shared/options.ts';
import { secretOf, withSecret, type SecretOptions } from '../shared/secret.ts';

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
  const check = command('check', 'test any webhook endpoint, built with hookbox or not, and report its faults', [
    'hookbox check http://localhost:3000/webhooks',
    "hookbox check http://localhost:3000/webhooks --effects 'http://localhost:3000/effects/{id}'",
    'hookbox check http://localhost:3000/webhooks --only unsigned tampered-body --json',
  ])
    .argument('<url>', 'the webhook endpoint to test')
    .optionsGroup('Which probes:')
    .option('--only <probe...>', 'run only these probes; the probe "valid" always runs', collectedFrom(probeNames))
    .option('--skip <probe...>', 'skip these probes', collectedFrom(probeNames))
    .option(
      '--effects <url>',
      'a URL that contains {id} and returns {"rows": n, "count": n}: rows is how many times the event was stored, ' +
        'and count is how many times its handler ran. It can also return one number, the larger of the two. Without ' +
        '--effects, hookbox can judge the probes "stored-first" and "duplicates" only for endpoints built with hookbox',
    )
    .option(
      '--deadline <ms>',
      'report a fault if a response takes longer than this',
      wholeNumber(1, MAX_DEADLINE_MS),
      10_000,
    )
    .optionsGroup(GROUP.output)
    .option('--json', 'print the report as JSON')
    .optionsGroup(GROUP.delivery)
    .option('--allow-remote', 'allow an endpoint on another machine');
  withNotes(check, {
    notes: [
      nameList('Probes', PROBES),
      'Check only a test endpoint: its handlers treat the test events as real ones. The ids of the ' +
        'test events begin with evt_check_, so you can find them. Afterwards, discard the test events that ' +
        'are dead or pending. If the endpoint returns 429, or 503 with Retry-After, hookbox sends the ' +
        'delivery again later; only the probe "burst" judges such responses. If an endpoint stores an event less than a millisecond after its response, the check cannot notice that the response came first.',
    ],
    exitCodes: {
      0: 'no fault (warnings and unknown results do not count)',
      1: 'a fault',
      3: 'a rate limit stopped every delivery',
    },
  });
  return withSecret(withHeader(check)).action(async (url: string, options: CheckCommandOptions) => {
    const target = targetOf(url, options.allowRemote === true);
    const settings = { ...settingsOf(options), secret: await secretOf(options) };
    const [{ checkEndpoint }, { givenHeaders }, { printFindings, printResult, printSummary }] = await Promise.all([
      import('./check-endpoint.ts'),
      import('../shared/sending.ts'),
      import('./print-check-report.ts'),
    ]);
    const report = await checkEndpoint(target, {
      ...settings,
      headers: givenHeaders(options.header),
      signal: interruption(),
      onStart: (ids) =>
        tell(
          `Checking ${target.href}. The ids of the test events begin with ${ids}. Afterwards, discard the test events that ` +
            'are dead or pending.',
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

function settingsOf({ effects, only, skip, deadline, allowRemote }: CheckCommandOptions) {
  if (effects !== undefined) {
    if (!effects.includes('{id}'))
      throw usageError('The URL of --effects must contain {id}, which hookbox replaces with the event id.');
    targetOf(effects.replaceAll('{id}', 'id'), allowRemote === true);
  }
  if (skip?.includes('valid') === true) throw usageError('--skip cannot include valid: the other probes depend on it.');
  return { effects: effects === undefined ? undefined : withScheme(effects), only, skip, deadlineMs: deadline };
}
