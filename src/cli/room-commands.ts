import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import { probeNames, PROBES } from './check/probe-names.ts';
import { DEFAULT_AT, DEFAULT_PORT, LISTS } from './sandbox/sandbox-address.ts';
import { GROUP, nameList, type CommandSpec } from './shared/command.ts';
import {
  collected,
  collectedFrom,
  positiveNumber,
  wholeNumber,
  withDb,
  withHeader,
  withOptionalDb,
  withReceiverPort,
  withWide,
} from './shared/options.ts';
import { withSecret } from './shared/secret.ts';

const check: CommandSpec = {
  description: 'test any webhook endpoint, built with hookbox or not, and report its faults',
  examples: [
    'hookbox check http://localhost:3000/webhooks',
    "hookbox check http://localhost:3000/webhooks --effects 'http://localhost:3000/effects/{id}'",
    'hookbox check http://localhost:3000/webhooks --only unsigned tampered-body --json',
  ],
  argument: ['<url>', 'the webhook endpoint to test'],
  options: [
    'Which probes:',
    ['--only <probe...>', 'run only these probes; the probe "valid" always runs', collectedFrom(probeNames)],
    ['--skip <probe...>', 'skip these probes', collectedFrom(probeNames)],
    [
      '--effects <url>',
      'a URL that contains {id} and returns {"rows": n, "count": n}: rows is how many times the event was stored, ' +
        'and count is how many times its handler ran. It can also return one number, the larger of the two. Without ' +
        '--effects, hookbox can judge the probes "stored-first" and "duplicates" only for endpoints built with hookbox',
    ],
    ['--deadline <ms>', 'report a fault if a response takes longer than this', wholeNumber(1, 3_600_000), 10_000],
    GROUP.output,
    ['--json', 'print the report as JSON'],
    GROUP.delivery,
    ['--allow-remote', 'allow an endpoint on another machine'],
    withHeader,
    withSecret,
  ],
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
  run: async () => (await import('./check/check-endpoint.ts')).checkAndReport,
};

const serve: CommandSpec = {
  description: 'receive deliveries, store them, and run your handlers',
  examples: [
    'hookbox serve',
    'hookbox serve handlers.ts --port 4000',
    'hookbox serve handlers.ts --watch --env-file .env',
    'hookbox serve --forward-to http://localhost:8080/webhooks',
    'hookbox serve handlers.mjs --output ndjson | jq .outcome',
  ],
  argument: [
    '[handlers]',
    'a module (.js, .mjs, .ts) that exports your handlers keyed by event type (as its default export or as `handlers`) and the schemas of your own types (as `events`)',
  ],
  options: [
    GROUP.server,
    (made) => withReceiverPort(made, 'listen on this port; 0 selects a free port'),
    ['--watch', 'restart when the handler module or a file that it imports changes'],
    ['--forward-to <url>', 'forward accepted deliveries to this address after the response is sent'],
    ['--host <address>', 'listen on this address', '127.0.0.1'],
    ['--path <path>', 'the path of the webhook', absolutePath, '/webhooks'],
    ['--unsafe-unsigned', 'do not check signatures; use this only for an account without a secret'],
    ['--allow-remote', 'allow forwarding to other machines'],
    new Option('--watched', 'used by --watch for the process that it starts').hideHelp(),
    withSecret,
    GROUP.output,
    new Option(
      '--output <how>',
      'the format of the output (default: interactive in a terminal, compact in a pipe)',
    ).choices(['interactive', 'compact', 'ndjson']),
    ['-v, --verbose', 'print the stack traces of handler errors'],
    (made) => withDb(made, 'the inbox, created if missing'),
  ],
  notes: [
    'A handler module:',
    ['  export default {', "    'order.created': (event) => console.log('new order:', event.data.id),", '  };'],
    'A forwarded delivery keeps its body, X-Signature and Content-Type. A forwarding failure does not change the response to the sender. ' +
      'hookbox serve does not forward a delivery that another hookbox serve forwarded to it.',
    'Handler output goes to standard error. inbox.attempts() returns the stack of each error. On Ctrl-C, the command finishes the work in progress and exits; press Ctrl-C again to exit immediately.',
  ],
  run: async () => (await import('./serve/serve-process.ts')).startServing,
};

function absolutePath(text: string): string {
  if (/^\/[^?#\s]*$/.test(text)) return text;
  throw new InvalidArgumentError('Use a path that begins with /.');
}

const scenario: CommandSpec = {
  description: 'run a script of deliveries, retries, faults and outages, and check the result',
  examples: ['hookbox scenario list', 'hookbox scenario run receiver-down-two-hours'],
  commands: {
    run: {
      description: 'run a scenario against the built-in receiver or your own',
      examples: [
        'hookbox scenario run happy-day',
        'hookbox scenario run random-faults --seed 42',
        'hookbox scenario run duplicate-storm --to http://localhost:3000/webhooks --db hookbox.db',
        'hookbox scenario run my-scenario.json --time-scale 60 --verbose',
      ],
      argument: ['<scenario>', 'a name from hookbox scenario list, a file, or - for standard input'],
      options: [
        'The run:',
        ['--to <url>', 'use this receiver instead of the built-in one'],
        [
          '--seed <n>',
          'derive the ids and faults from this seed; the same seed gives the same run',
          wholeNumber(0, 2 ** 32 - 1),
        ],
        [
          '--time-scale <n>',
          'wait between steps as in the scenario, n times as fast (default: do not wait)',
          positiveNumber,
        ],
        ['--allow-remote', 'allow deliveries to other machines'],
        withSecret,
        GROUP.output,
        ['-v, --verbose', 'print each request to standard error'],
        ['--json', 'print the report and every attempt as JSON'],
        (made) =>
          withOptionalDb(
            made,
            'the inbox of the receiver at --to (needed to check which events the receiver stored and handled)',
          ),
        ['--endpoint <name>', 'the endpoint to look up in the inbox --db', 'default'],
      ],
      exitCodes: {
        0: 'all expectations were met',
        1: 'some expectations were not met',
        3: 'some expectations could not be checked',
        4: 'no scenario has this name',
      },
      run: async () => (await import('./scenario/scenario-report.ts')).runAndReport,
    },
    list: {
      description: 'list the built-in scenarios',
      examples: ['hookbox scenario list'],
      options: [['--json', 'print the names and descriptions as JSON']],
      run: async () => (await import('./scenario/scenario-file.ts')).listScenarios,
    },
    schema: {
      description: 'print the JSON Schema of scenario files, with the meaning of each field',
      examples: ['hookbox scenario schema > scenario.schema.json'],
      run: async () => (await import('./scenario/scenario-file.ts')).printScenarioSchema,
    },
  },
};

const verify: CommandSpec = {
  description: 'check the signature of a body; --explain looks for the cause of a mismatch',
  examples: [
    'hookbox verify body.json --signature "$(cat signature.txt)"',
    'hookbox verify body.json --signature 5f3a… --explain',
    'hookbox verify body.json --signature 5f3a… --explain --old-secret-file old.txt --also other.json',
  ],
  argument: ['<file>', 'the file that contains the body, or - for standard input'],
  options: [
    (made) => made.requiredOption('--signature <hex>', 'the value of X-Signature'),
    ['--explain', 'check for common mistakes, and report which one caused the failure'],
    ['--also <file...>', 'with --explain, also try the bodies in these files'],
    [
      '--old-secret-file <path>',
      'with --explain, also try the old secret (from before a rotation) in this file; SIGNING_SECRET_OLD is also tried',
    ],
    ['--json', 'print the verdict as JSON'],
    withSecret,
  ],
  run: async () => (await import('./verify/explain-mismatch.ts')).verifyBody,
};

const doctor: CommandSpec = {
  description: 'check whether a receiver can run and store events on this machine',
  examples: [
    'hookbox doctor',
    'hookbox doctor --db /var/lib/shop/hookbox.db --port 8080',
    'hookbox doctor --json | jq \'.checks[] | select(.status != "ok")\'',
  ],
  options: [
    (made) => withReceiverPort(made, 'the port of the receiver'),
    ['--secret-file <path>', 'read the signing secret from this file instead of SIGNING_SECRET'],
    ['--json', 'print the findings as JSON'],
    (made) => withDb(made, 'the inbox, which need not exist yet', ''),
  ],
  notes: [
    'With SQLite, doctor writes to a temporary folder beside the inbox, then removes the folder. With Postgres, ' +
      'doctor only reads. It never changes the inbox.',
  ],
  exitCodes: { 0: 'no problem (warnings do not count)', 1: 'a problem' },
  run: async () => (await import('./doctor/diagnose.ts')).doctor,
};

const secretOrMade = (made: Command): Command =>
  withSecret(
    made,
    'read the signing secret from this file instead of SIGNING_SECRET; without either, the sandbox creates a secret and prints it',
  );

const steering = (made: Command): Command =>
  made
    .optionsGroup(GROUP.service)
    .option('--at <url>', 'the address of the sandbox', DEFAULT_AT)
    .optionsGroup(GROUP.output)
    .option('--json', 'print the result as JSON');

const sandbox: CommandSpec = {
  description: 'simulate the service locally: operations, state, webhooks and dashboard',
  examples: [
    'hookbox sandbox --to http://localhost:3000/webhooks',
    'hookbox sandbox --to http://localhost:3000/webhooks --db shop.db',
    'hookbox sandbox --clock frozen --seed 7 --plan Free',
    'hookbox sandbox --assume confirmedAfterMs=5s --fault before,operation=createOrder,times=2',
    "hookbox sandbox advance '30 min'",
  ],
  options: [
    GROUP.delivery,
    ['--to <url>', 'register this endpoint for all events, if it is not registered yet'],
    ['--unsigned', 'send no X-Signature, as for an account without a secret'],
    ['--allow-remote', 'allow webhooks to other machines'],
    GROUP.service,
    ['--db <file>', 'keep the state in this file, created if missing (default: in memory)'],
    ['--fault <fault>', 'inject a fault; "hookbox sandbox fault --help" lists the faults (repeatable)', collected],
    new Option('--clock <which>', 'use a real-time clock, or a frozen clock that you advance')
      .choices(['real', 'frozen'])
      .default('real'),
    ['--seed <n>', 'create the same ids, keys and secrets in every run with this seed', wholeNumber(0)],
    [
      '--plan <plan>',
      'apply this plan: Free, Developer, Business, Enterprise, or limits such as perSecond=5,perMonth=100',
    ],
    [
      '--assume <name=value>',
      'choose how the sandbox behaves where the interface defines nothing (repeatable)',
      collected,
    ],
    GROUP.server,
    ['--port <n>', 'listen on this port; 0 selects a free port', wholeNumber(0, 65_535), DEFAULT_PORT],
    [
      '--host <address>',
      'listen on this address; if it is not a loopback address, other machines can use the sandbox over HTTP',
      '127.0.0.1',
    ],
    GROUP.output,
    ['--json', 'print one line of JSON at startup and one for each delivery'],
    GROUP.delivery,
    secretOrMade,
    (made) => made.enablePositionalOptions(),
  ],
  notes: [
    'The sandbox prints a line for each delivery attempt. It prints the signing secret of a new endpoint only once. ' +
      'docs/sandbox.md lists what the sandbox assumes where the interface leaves a choice.',
    'The subcommands control a sandbox that you run on this machine. On Ctrl-C, the command finishes the work in progress and exits; press Ctrl-C again to exit immediately.',
  ],
  run: async () => (await import('./sandbox/run-sandbox.ts')).runSandbox,
  commands: {
    advance: {
      description: 'advance the clock of a running sandbox and run the work that becomes due',
      examples: [
        "hookbox sandbox advance '30 min'",
        'hookbox sandbox advance 2h --at http://127.0.0.1:4001',
        'hookbox sandbox advance 0',
      ],
      argument: [
        '<duration>',
        "how far to advance the clock, such as '30 min', 1h30m or 2d; 0 runs the work that is due now",
      ],
      options: [steering],
      run: async () => (await import('./sandbox/steer.ts')).advance,
    },
    retry: {
      description: 'immediately retry dead letters, or failed deliveries that are waiting for a retry',
      examples: [
        'hookbox sandbox retry 17',
        'hookbox sandbox list dead-letters --json | jq -r .id | xargs hookbox sandbox retry',
      ],
      argument: [
        '<deliveries...>',
        'the numbers of the deliveries, as the sandbox prints and lists them',
        (text: string, before: readonly number[] | undefined) => [...(before ?? []), wholeNumber(1)(text)],
      ],
      options: [steering],
      exitCodes: { 0: 'all deliveries succeeded', 1: 'no delivery succeeded', 3: 'only some deliveries succeeded' },
      run: async () => (await import('./sandbox/steer.ts')).retry,
    },
    send: {
      description: 'send an event that no operation creates, such as an event of your own type',
      examples: [
        'hookbox sandbox send loyalty.earned --events events.mjs --override data.account=a --override data.points=5',
        'hookbox sandbox send order.created --override data.gift_note=hello',
        'hookbox sandbox send event.json',
      ],
      argument: ['<event>', 'an event type, for a new event; or a file with the type and data (- for standard input)'],
      options: [
        GROUP.event,
        ['--override <path=value>', 'set a value, given as JSON or text (repeatable)', collected],
        ['--remove <path>', 'remove a value, after the overrides are applied (repeatable)', collected],
        ['--events <module>', 'a module (.js, .mjs, .ts) that exports the schemas of your own types as `events`'],
        steering,
      ],
      notes: [
        'The sandbox sets the id and the time of the event, and signs it. It sends the event to every ' +
          'endpoint that is registered for all events or for this type, and retries failed deliveries as usual. Nothing else in the sandbox changes. If the event ' +
          'does not fit your schema, the command warns you and still sends it.',
      ],
      run: async () => (await import('./sandbox/steer.ts')).send,
    },
    fault: {
      description: 'inject a fault',
      examples: [
        'hookbox sandbox fault before,operation=createOrder,times=3',
        'hookbox sandbox fault slow,operation=listMerchants,ms=2000',
        'hookbox sandbox fault decline,outcome=insufficient_funds',
        'hookbox sandbox fault delivery:tampered-signature,times=2',
        'hookbox sandbox fault --clear',
      ],
      argument: [
        '[fault]',
        'the kind of fault, with operation=, times=, status=, ms= or outcome= if the kind takes such a setting',
      ],
      options: [GROUP.act, ['--clear', 'remove all faults that have not occurred yet'], steering],
      notes: [
        'Without an argument, this command lists the faults that have not occurred yet.',
        nameList('Faults', {
          before: 'make an operation fail before it changes anything',
          after: 'make an operation fail after it has made its change',
          'lost-answer': 'carry out an operation, but send no response',
          slow: 'delay an operation',
          decline: 'decline the payment of an order',
          'fail-order': 'make an order fail',
          'delivery:…': 'late, burst, duplicate, tampered-body, tampered-signature, cut, slow-body, lost-answer',
        }),
        'docs/sandbox.md describes each fault and lists the operations.',
      ],
      run: async () => (await import('./sandbox/steer.ts')).fault,
    },
    move: {
      description: 'change the status of an order',
      examples: ['hookbox sandbox move ord_8sKq2mXkRz4VwYb2 cancelled'],
      argument: ['<order>', 'the id of the order'],
      options: [(made) => made.argument('<status>', 'confirmed, ready, completed, cancelled or failed'), steering],
      run: async () => (await import('./sandbox/steer.ts')).move,
    },
    webhook: {
      description: 'register an endpoint, replace its secret, or remove it',
      examples: [
        'hookbox sandbox webhook http://localhost:3000/webhooks',
        'hookbox sandbox webhook http://localhost:3000/webhooks --remove',
      ],
      argument: ['<url>', 'the address that receives webhooks'],
      options: [
        'The endpoint:',
        ['--unsigned', 'send no X-Signature, as for an account without a secret'],
        ['--remove', 'remove the endpoint and its pending deliveries'],
        secretOrMade,
        steering,
      ],
      run: async () => (await import('./sandbox/steer.ts')).webhook,
    },
    key: {
      description: 'create an API key and print it once',
      examples: ['hookbox sandbox key', 'hookbox sandbox key --permission orders:write --permission carts:read'],
      options: [
        'The key:',
        ['--permission <name>', 'give the key this permission (repeatable; default: all permissions)', collected],
        steering,
      ],
      run: async () => (await import('./sandbox/steer.ts')).key,
    },
    list: {
      description: 'list up to 100 objects in a running sandbox',
      examples: ['hookbox sandbox list deliveries', 'hookbox sandbox list orders --json | jq -r .id'],
      argument: new Argument('<what>', 'the objects to list').choices(LISTS),
      options: [steering, withWide],
      run: async () => (await import('./sandbox/steer.ts')).list,
    },
  },
};

/** The commands that have their own folder. Their code is imported only when they run. */
export const roomCommands = { check, serve, sandbox, scenario, verify, doctor };
