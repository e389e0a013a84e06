import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withOptionalDb } from '../shared/db-option.ts';
import { positiveNumber, wholeNumber } from '../shared/option-values.ts';
import type { ScenarioRunOptions } from './run-and-report.ts';
import { withSecret } from '../shared/secret-option.ts';

/** `hookbox scenario`: run, list and schema. */
export function scenarioCommand(): Command {
  return command(
    'scenario',
    'play scripted deliveries, with retries, faults and outages, and check what becomes of them',
    ['hookbox scenario list', 'hookbox scenario run receiver-down-two-hours'],
  )
    .addCommand(runCommand())
    .addCommand(listCommand())
    .addCommand(schemaCommand());
}

function runCommand(): Command {
  const run = command('run', 'play a scenario to a receiver of its own, or to yours', [
    'hookbox scenario run happy-day',
    'hookbox scenario run random-faults --seed 42',
    'hookbox scenario run duplicate-storm --to http://localhost:3000/webhooks --db hookbox.db',
    'hookbox scenario run my-scenario.json --time-scale 60 --verbose',
  ])
    .argument('<scenario>', 'a name that hookbox scenario list shows, a file, or - for standard input')
    .option('--to <url>', 'play it to this receiver, not to one of its own')
    .option('--endpoint <name>', 'the endpoint in --db', 'default')
    .option('--seed <n>', 'makes ids and faults; the same seed repeats a run', wholeNumber(0, 2 ** 32 - 1))
    .option('--time-scale <n>', 'wait, but divide the time by n; without it nothing waits', positiveNumber)
    .option('--allow-remote', 'deliver to other machines than this one, too')
    .option('-v, --verbose', 'print each request to standard error')
    .option('--json', 'print the report and every try as JSON');
  return withSecret(withOptionalDb(run, 'the inbox behind --to, to check what is stored and handled'))
    .addHelpText(
      'after',
      '\nExit codes: 0 all expectations were met, 1 some were not, 3 not all could be checked, 4 there is no such scenario.',
    )
    .action(async (scenario: string, options: ScenarioRunOptions) => {
      const { runAndReport } = await import('./run-and-report.ts');
      process.exitCode = await runAndReport(scenario, options);
    });
}

function listCommand(): Command {
  return command('list', 'list the scenarios of the package', ['hookbox scenario list'])
    .option('--json', 'print names and descriptions as JSON')
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const { listScenarios } = await import('./list-scenarios.ts');
      await listScenarios(json);
    });
}

function schemaCommand(): Command {
  return command('schema', 'print the JSON Schema of scenario files, which explains each field', [
    'hookbox scenario schema > scenario.schema.json',
  ]).action(async () => {
    const [{ z }, { scenarioSchema }, { printJson }] = await Promise.all([
      import('zod'),
      import('./scenario-schema.ts'),
      import('../shared/output.ts'),
    ]);
    printJson(z.toJSONSchema(scenarioSchema, { io: 'input' }));
  });
}
