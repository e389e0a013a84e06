import { Argument, Option } from 'commander';
import { EVENT_MEANINGS } from '../events/event-types.ts';
import { eventStates } from '../inbox/event.ts';
import { GROUP, nameList, type CommandTable } from './shared/command.ts';
import {
  collected,
  collectedFrom,
  positiveNumber,
  wholeNumber,
  withDb,
  withOptionalDb,
  withSending,
  withWide,
} from './shared/options.ts';
import { withSecret } from './shared/secret.ts';

/** The commands that consist of one or two files. Their code is imported only when they run. */
export const commands = {
  trigger: {
    description: 'sign an event and send it to a receiver',
    examples: [
      'hookbox trigger order.created',
      'hookbox trigger order.created --override data.total=12.50 --override data.items.0.quantity=3 --remove ' +
        'data.currency',
      'hookbox trigger inventory.updated --count 1000 --concurrency 16',
      'hookbox trigger order.ready --event-id evt_1 --count 3',
      'hookbox trigger order.confirmed --override data.id=ord_1',
      'hookbox trigger order.ready --tamper body --expect-status 401',
      'hookbox trigger order.ready --schedule service --time-scale 3600',
      'hookbox trigger body.json --print-curl',
      'hookbox trigger loyalty.earned --events events.mjs --override data.account=a --override data.points=5',
      'hookbox trigger cart.abandoned --dry-run > body.json',
    ],
    argument: ['<event>', 'an event type, for a new event; or a file (- for standard input), which is sent unchanged'],
    options: [
      GROUP.event,
      ['--override <path=value>', 'set a value, given as JSON or text (repeatable)', collected],
      ['--count <n>', 'deliver n events; each event that trigger creates has its own id', wholeNumber(1), 1],
      ['--event-id <id>', 'the id of the event; with --count, deliver this event n times'],
      ['--remove <path>', 'remove a value, after the overrides are applied (repeatable)', collected],
      ['--events <module>', 'a module (.js, .mjs, .ts) that exports the schemas of your own types as `events`'],
      new Option('--tamper <what>', 'change the body or signature after signing').choices(['body', 'signature']),
      withSending,
      ['--dry-run', 'print the body; send nothing'],
      ['--print-curl', 'print a curl command, which does not contain the secret; send nothing'],
      GROUP.delivery,
      ['--expect-status <code>', 'require this status instead of any 2xx', wholeNumber(100, 599)],
      new Option('--schedule <whose>', 'retry failed deliveries as the service does, for up to 31 hours').choices([
        'service',
      ]),
      ['--time-scale <n>', 'with --schedule: divide the waits by n', positiveNumber],
    ],
    notes: [
      nameList('Types', EVENT_MEANINGS),
      'Each created event is about a different order, cart or product. To send several events about the same order, ' +
        'cart or product, use --override data.id=… (data.product_id=… for inventory events). A failing handler then ' +
        'holds back the later events. For a type of your own, data has only the fields that you set with --override. ' +
        'trigger does not follow redirects.',
    ],
    exitCodes: {
      0: 'all responses were as expected',
      1: 'no response was as expected',
      3: 'only some responses were as expected',
    },
    run: async () => (await import('./trigger.ts')).trigger,
  },

  ui: {
    description: 'serve the operators’ page',
    examples: [
      'hookbox ui',
      'hookbox ui --db shop.db --read-only --mask data.customer.email',
      'HOOKBOX_UI_USER=ada hookbox ui --host 0.0.0.0 --password-file /run/secrets/hookbox-ui',
    ],
    options: [
      GROUP.server,
      ['--port <n>', 'listen on this port; 0 selects a free port', wholeNumber(0, 65_535), 3223],
      ['--host <address>', 'listen on this address; if other machines can reach it, a login is required', '127.0.0.1'],
      ['--password-file <path>', 'read the login password from this file instead of HOOKBOX_UI_PASSWORD'],
      'The page:',
      ['--read-only', 'do not allow changes'],
      ['--mask <path>', 'hide this field in event bodies, such as data.items[].name (repeatable)', collected],
      (made) =>
        withSecret(
          made,
          'let operators replay events to this machine, signed with the secret in this file or in SIGNING_SECRET',
        ),
      withDb,
    ],
    notes: [
      'HOOKBOX_UI_USER is the user name for the login (default: operator). A program that sends HOOKBOX_UI_TOKEN as a ' +
        'bearer token can read the page, for example to scrape /metrics. The page runs no handlers; your processor ' +
        'handles the events that you rerun. On Ctrl-C, the command finishes the work in progress and exits; press ' +
        'Ctrl-C again to exit immediately.',
    ],
    run: async () => (await import('./ui.ts')).ui,
  },

  replay: {
    description: 'send stored events or files again, with new signatures',
    examples: [
      'hookbox replay evt_1 evt_2',
      'hookbox replay --state dead --since 2h --to http://localhost:4000/webhooks',
      'hookbox replay --all --quiet --concurrency 8',
      'hookbox replay captured/ --rate 10',
    ],
    argument: [
      '[sources...]',
      'ids of stored events, full or shortened (evt_…wYb2); files; or folders of *.json files',
    ],
    options: [
      GROUP.events,
      ['--all', 'every stored event'],
      ['--state <state>', `events in this state: ${eventStates.join(', ')} (repeatable)`, collectedFrom(eventStates)],
      ['--since <time>', 'events received at or after this time: an age (2h) or an ISO date (UTC)'],
      ['--until <time>', 'events received before this time'],
      ['--type <type>', 'events of this type (repeatable)', collected],
      ['--endpoint <name>', 'events received at this endpoint', 'default'],
      ['--after <seq>', 'events with a higher number than this; use it to continue a stopped replay', wholeNumber(0)],
      ['--skip <n>', 'skip the first n ids and files', wholeNumber(0)],
      withSending,
      ['--quiet', 'print only deliveries that were not accepted'],
      ['--dry-run', 'list what would be sent; send nothing'],
      GROUP.delivery,
      ['--rate <n>', 'send at most this many deliveries per second', positiveNumber],
      (made) => withDb(made, 'the inbox that contains the stored events'),
    ],
    notes: [
      'Use replay to send events to a different receiver, or to send events that your receiver has lost. A hookbox ' +
        'receiver that already has an event answers "duplicate" and runs no handler (an inline receiver runs a failed ' +
        'handler again). To run the handler of a dead event again, use "hookbox events rerun". replay does not follow ' +
        'redirects.',
    ],
    exitCodes: {
      0: 'all deliveries were accepted',
      1: 'no delivery was accepted',
      3: 'only some deliveries were accepted',
      4: 'no event matched',
    },
    run: async () => (await import('./replay.ts')).replay,
  },

  sign: {
    description: 'print the signature of a body',
    examples: [
      'hookbox sign body.json',
      'curl -H "X-Signature: $(hookbox sign body.json)" --data-binary @body.json http://localhost:3000/webhooks',
      'cat body.json | hookbox sign -',
    ],
    argument: ['<file>', 'the file that contains the body, or - for standard input'],
    options: [withSecret],
    run: async () => (await import('./sign.ts')).sign,
  },

  fixtures: {
    description: 'list, print and capture bodies for tests',
    examples: [
      'hookbox fixtures list',
      'hookbox fixtures show order.created > body.json',
      'hookbox fixtures capture evt_3PqT8mXkRz4VwYb2 --redact --out odd-order.json',
    ],
    commands: {
      list: {
        description: 'list the built-in bodies',
        examples: [
          'hookbox fixtures list',
          'hookbox fixtures list --json | jq -r \'.[] | select(.expect == "rejected").name\'',
        ],
        options: [['--json', 'print JSON'], withWide],
        run: async () => (await import('./fixtures.ts')).listFixtures,
      },
      show: {
        description: 'print a built-in body, byte for byte',
        examples: ['hookbox fixtures show order.created', 'hookbox fixtures show edge/bom | xxd | head -1'],
        argument: ['<name>', 'a name from hookbox fixtures list'],
        run: async () => (await import('./fixtures.ts')).showFixture,
      },
      capture: {
        description: 'save the body of a stored event for a test',
        examples: [
          'hookbox fixtures capture evt_3PqT8mXkRz4VwYb2 --out odd-order.json',
          'hookbox fixtures capture evt_3PqT8mXkRz4VwYb2 --db shop.db --redact | hookbox sign -',
        ],
        argument: ['<event-id>', 'the id of the event'],
        options: [
          GROUP.output,
          ['--out <file>', 'write to this file instead of standard output'],
          ['--redact', 'replace personal and business values with invented ones of the same shape'],
          ['--force', 'replace an existing file'],
          (made) => withDb(made, 'the inbox that contains the stored events'),
          ['--endpoint <name>', 'the endpoint that received the event', 'default'],
        ],
        notes: [
          '--redact keeps counts, times, types and statuses, the prefixes of ids, and the lengths of strings ' +
            'and numbers. Equal values stay equal, and the event stays valid. Its id and its signature change. ' +
            'Field names do not change, so read the file before you share it.',
        ],
        run: async () => (await import('./fixtures.ts')).capture,
      },
    },
  },

  schema: {
    description: 'show the fields of event types, or the OpenAPI document of the service',
    examples: [
      'hookbox schema order.created',
      'hookbox schema --json > events.schema.json',
      'hookbox schema cart.abandoned --json',
      'hookbox schema --openapi > openapi.json',
    ],
    argument: ['[type]', 'one event type (default: all)'],
    options: [
      ['--json', 'print JSON Schema (draft 2020-12); without a type, one object keyed by type'],
      ['--openapi', 'print the OpenAPI 3.1 document that hookbox sandbox serves'],
    ],
    run: async () => (await import('./schema.ts')).printSchema,
  },

  migrate: {
    description: 'create or upgrade the tables of an inbox in Postgres',
    examples: [
      'HOOKBOX_DB=postgres://owner:secret@db.example/shop hookbox migrate',
      'hookbox migrate --db postgres://owner@db.example/shop --print',
      'hookbox migrate --print > hookbox.sql',
    ],
    options: [
      ['--print', 'print the SQL of the pending migrations (without --db, of all migrations); change nothing'],
      ['--json', 'print the result as JSON'],
      (made) => withOptionalDb(made, 'the inbox'),
    ],
    notes: [
      'Run migrate during a deploy if the database role of the receiver cannot create tables. postgresInbox(url, { ' +
        'migrate: false }) leaves migration to this command. Each migration is one transaction; concurrent runs apply ' +
        'it only once. Before you change to a different minor version of hookbox, stop all processes that use the ' +
        'inbox. hookbox migrates a SQLite file when it opens the file.',
      "After each migration, grant these rights to the receiver's role:",
      [
        '  GRANT USAGE ON SCHEMA hookbox TO …;',
        '  GRANT SELECT, INSERT, UPDATE, DELETE',
        '    ON ALL TABLES IN SCHEMA hookbox TO …;',
      ],
      'To grant these rights on all future tables as well, specify the role that runs migrate:',
      [
        '  ALTER DEFAULT PRIVILEGES FOR ROLE … IN SCHEMA hookbox',
        '    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO …;',
      ],
    ],
    run: async () => (await import('./shared/postgres-inbox.ts')).migrate,
  },

  completion: {
    description: 'print a shell completion script for commands, options and event types',
    examples: [
      'source <(hookbox completion bash)',
      'source <(hookbox completion zsh)',
      'hookbox completion fish > ~/.config/fish/completions/hookbox.fish',
    ],
    argument: new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']),
    notes: [
      'In bash, add the first example below to ~/.bashrc. In zsh, add the second one to ~/.zshrc, after compinit. In ' +
        'fish, run the third one once. Completion works for the command hookbox, not for npx hookbox. Therefore, put ' +
        "hookbox on your PATH (npm install -g hookbox), or define the alias hookbox='npx hookbox'.",
    ],
    run: async () => (await import('./completion.ts')).printScript,
  },
} as const satisfies CommandTable;
