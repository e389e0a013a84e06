import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { withOptionalDb, positiveNumber, wholeNumber } from '../shared/options.ts';
import type { ScenarioRunOptions } from './scenario-report.ts';
import { withSecret } from '../shared/secret.ts';

/** `hookbox scenario`: run, list and schema. */
export function scenarioCommand(): Command {
  return command('scenario', 'run a script of deliveries, retries, faults and outages, and check the result', [
    'hookbox scenario list',
    'hookbox scenario run receiver-down-two-hours',
  ])
    .addCommand(runCommand())
    .addCommand(listCommand())
    .addCommand(schemaCommand());
}

function runCommand(): Command {
  const run = command('run', 'run a scenario against the built-in receiver or your own', [
    'hookbox scenario run happy-day',
    'hookbox scenario run random-faults --seed 42',
    'hookbox scenario run duplicate-storm --to http://localhost:3000/webhooks --db hookbox.db',
    'hookbox scenario run my-scenario.json --time-scale 60 --verbose',
  ])
    .argument('<scenario>', 'a name from hookbox scenario list, a file, or - for standard input')
    .optionsGroup('The run:')
    .option('--to <url>', 'use this receiver instead of the built-in one')
    .option(
      '--seed <n>',
      'derive the ids and faults from this seed; the same seed gives the same run',
      wholeNumber(0, 2 ** 32 - 1),
    )
    .option(
      '--time-scale <n>',
      'wait between steps as in the scenario, n times as fast (default: do not wait)',
      positiveNumber,
    )
    .option('--allow-remote', 'allow deliveries to other machines');
  withSecret(run)
    .optionsGroup(GROUP.output)
    .option('-v, --verbose', 'print each request to standard error')
    .option('--json', 'print the report and every attempt as JSON');
  const checked = withOptionalDb(
    run,
    'the inbox of the receiver at --to (needed to check which events the receiver stored and handled)',
  );
  return withNotes(checked.option('--endpoint <name>', 'the endpoint to look up in the inbox --db', 'default'), {
    exitCodes: {
      0: 'all expectations were met',
      1: 'some expectations were not met',
      3: 'some expectations could not be checked',
      4: 'no scenario has this name',
    },
  }).action(async (scenario: string, options: ScenarioRunOptions) => {
    const { runAndReport } = await import('./scenario-report.ts');
    process.exitCode = await runAndReport(scenario, options);
  });
}

function listCommand(): Command {
  return command('list', 'list the built-in scenarios', ['hookbox scenario list'])
    .option('--json', 'print the names and descriptions as JSON')
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const { listScenarios } = await import('./scenario-file.ts');
      await listScenarios(json);
    });
}

function schemaCommand(): Command {
  return command('schema', 'print the JSON Schema of scenario files, with the meaning of each field', [
    'hookbox scenario schema > scenario.schema.json',
  ]).action(async () => {
    const [{ z }, { scenarioSchema }, { printJson }] = await Promise.all([
      import('zod'),
      import('./scenario-file.ts'),
      import('../shared/output.ts'),
    ]);
    printJson(z.toJSONSchema(scenarioSchema, { io: 'input' }));
  });
}
