import { Option } from 'commander';
import { prunableStates } from '../../inbox/event.ts';
import type { Act } from '../../ops/index.ts';
import { GROUP, type CommandSpec, type CommandTable } from '../shared/command.ts';
import {
  collected,
  collectedFrom,
  oneFrom,
  positiveNumber,
  wholeNumber,
  withDb,
  withTarget,
  withWide,
} from '../shared/options.ts';
import { withBy, withFilter, withInbox, withNewest } from './options.ts';

const LIMIT = ['--limit <n>', 'list at most this many events', wholeNumber(1), 50] as const;
const ALL = ['--all', 'list all events that match'] as const;
const DRY_RUN = ['--dry-run', 'count the events; change nothing'] as const;
const YES = ['--yes', 'do not ask for confirmation'] as const;
const PAUSED_ENDPOINT = ['--endpoint <name>', 'the endpoint that receives events of this type', 'default'] as const;

const FORCE = [
  '--force',
  'also rerun processed events; with a filter but without --state, also rerun ignored and discarded events',
] as const;

const commands: CommandTable = {
  list: {
    description: 'list stored events, newest first',
    examples: [
      'hookbox events list --state dead --since 24h',
      'hookbox events list --entity ord_42',
      'hookbox events list --error "ECONNREFUSED" --type order.created --json | jq -r .id',
      'hookbox events list --body data.customer.email=ada@example.com',
      'hookbox events list --groups',
    ],
    options: [
      GROUP.output,
      LIMIT,
      ALL,
      [
        '--order <order>',
        'newest, oldest or failed; failed lists dead events, beginning with the event that became dead last',
        oneFrom(['newest', 'oldest', 'failed']),
        'newest',
      ],
      ['--groups', 'group dead events by error; with --retrying, group the events that are waiting for a retry'],
      [
        '--before <seq>',
        'list entries with a number lower than this; for the next page, pass the last number shown',
        wholeNumber(0),
      ],
      withFilter,
      withWide,
      withInbox('print one line of JSON per event'),
    ],
    notes: [
      'An event must match every filter. If you repeat --type, --state or --dead-reason, the event must match one of ' +
        'the values.',
    ],
    run: async () => (await import('./list.ts')).list,
  },

  find: {
    description: 'find events by an id, the start of an id, or an error; list failed events first',
    examples: [
      'hookbox events find ord_42',
      'hookbox events find evt_3pqt',
      'hookbox events find "connect ECONNREFUSED"',
    ],
    argument: [
      '<text>',
      'the id of an event, order, cart, product or merchant; the first characters of such an id; or part of ' +
        'an error, ignoring case',
    ],
    options: [GROUP.output, LIMIT, ALL, withWide, withInbox('print one line of JSON per event')],
    notes: ['This does not search bodies. To find a value in a body, use "hookbox events list --body".'],
    exitCodes: { 0: 'at least one event matched', 4: 'no event matched' },
    run: async () => (await import('./list.ts')).find,
  },

  show: {
    description: 'show the deliveries, attempts, errors and body of an event',
    examples: [
      'hookbox events show evt_3PqT8mXkRz4VwYb2',
      'hookbox events show evt_3PqT8mXkRz4VwYb2 --mask data.customer.email --mask data.items[].name',
      'hookbox events show evt_3PqT8mXkRz4VwYb2 --raw | sha256sum',
      "hookbox events show evt_3PqT8mXkRz4VwYb2 --json | jq '.timeline[].attempt.error.stack'",
      'hookbox events show evt_…wYb2',
    ],
    argument: [
      '<event-id>',
      'the id of the event, or its last characters (such as wYb2) if no other id ends with them',
    ],
    options: [
      GROUP.output,
      ['--mask <path>', 'hide this field of the body (repeatable)', collected],
      ['--raw', 'print only the stored body, byte for byte'],
      [
        '--endpoint <name>',
        'the endpoint that received the event; needed if several endpoints have an event with this id',
      ],
      withInbox(),
    ],
    notes: [
      'The body is shown with its original numbers, escapes and field order. --mask does not hide error messages.',
    ],
    run: async () => (await import('./show.ts')).show,
  },

  tail: {
    description: 'print the latest events, and optionally new ones as they arrive',
    examples: [
      'hookbox events tail -f',
      'hookbox events tail -n 50 --type order.created',
      'hookbox events tail -f --state dead --json | jq .lastError',
    ],
    options: [
      GROUP.output,
      ['-n, --lines <n>', 'begin with this many of the latest events', wholeNumber(0, 10_000), 10],
      ['-f, --follow', 'print new and changed events until you press Ctrl-C'],
      withFilter,
      withInbox('print one line of JSON per event or change'),
    ],
    notes: [
      'With --follow, hookbox checks every half second for new events and for changes in the few hundred most recent ' +
        'events.',
    ],
    run: async () => (await import('./tail.ts')).tail,
  },

  rerun: acting('rerun', {
    description: 'run the handlers of dead, ignored or discarded events again',
    examples: [
      'hookbox events rerun evt_1 evt_2',
      'hookbox events rerun --state dead --error ECONNREFUSED --since 6h',
      'hookbox events rerun --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
      'hookbox events rerun --all --yes --rate 50 --reason "outage of the warehouse"',
      'hookbox events rerun --resume 7',
    ],
    all: 'rerun all dead events',
    notes: [
      'By default, a filter selects only dead events. For ignored or discarded events, add --state ignored or --state ' +
        'discarded. Your processor runs the handlers.',
      'This command uses the built-in rule to find the entity of an invalid event. If your receiver has its ' +
        'own rule (the option "entity"), rerun invalid events with rerunEvents() or on the operators’ page.',
    ],
  }),

  'retry-now': acting('retry-now', {
    description: 'retry failed events now, without waiting for their backoff to end',
    examples: [
      'hookbox events retry-now evt_1 evt_2',
      'hookbox events retry-now --error ECONNREFUSED --dry-run',
      'hookbox events retry-now --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
      'hookbox events retry-now --all --yes --rate 50 --reason "the warehouse is back"',
      'hookbox events retry-now --resume 7',
    ],
    all: 'retry all failed events now',
    notes: [
      'Attempts and failures still count, so an event becomes dead if its last allowed attempt fails. An event still ' +
        'waits for older events of its entity. Your processor runs the handlers.',
    ],
  }),

  discard: acting('discard', {
    description: 'discard dead and pending events that need no handling',
    examples: [
      'hookbox events discard evt_1',
      'hookbox events discard --type cart.abandoned --until 2026-01-01 --dry-run',
      'hookbox events discard --fingerprint 5f3a9c0d1b2e4f67 --yes --reason "test orders"',
    ],
    all: 'discard all dead and pending events',
    notes: ['Discarded events remain in the inbox, and you can rerun them.'],
  }),

  replay: {
    description: 'send one stored event to an address, with a new signature, and print the response',
    examples: ['hookbox events replay evt_1 --to http://localhost:4000/webhooks'],
    argument: ['<event-id>', 'the id of the event, full or shortened (evt_…wYb2)'],
    options: [
      GROUP.act,
      withTarget,
      ['--endpoint <name>', 'the endpoint that received the event; needed if several endpoints have this id'],
      withBy,
      withInbox(),
    ],
    notes: ['The event in the inbox does not change. To send many events, use hookbox replay.'],
    exitCodes: { 0: 'the response was a 2xx', 1: 'the event was not accepted', 4: 'the event is unknown' },
    run: async () => (await import('./replay.ts')).replay,
  },

  pause: {
    description: 'store the events of a type, but do not handle them until you resume the type',
    examples: ['hookbox events pause order.created --reason "the till is down"', 'hookbox events pause'],
    argument: ['[type]', 'the type to pause; without a type, list the paused types'],
    options: [
      GROUP.act,
      ['--unseen', 'pause the type even if the inbox has no event of this type yet'],
      PAUSED_ENDPOINT,
      withBy,
      withInbox(),
    ],
    notes: [
      'Deliveries still get a 200. Handlers that are already running are not interrupted. Newer events of the same ' +
        'order, cart or product wait behind the paused events.',
    ],
    run: async () => (await import('./pause.ts')).pause,
  },

  resume: {
    description: 'handle the events of a paused type again',
    examples: ['hookbox events resume order.created'],
    argument: ['<type>', 'the type to resume'],
    options: [GROUP.act, PAUSED_ENDPOINT, withBy, withInbox()],
    run: async () => (await import('./pause.ts')).resume,
  },

  acknowledge: {
    description: 'record that the cause of a group of dead events is known',
    examples: ['hookbox events acknowledge 5f3a9c0d1b2e4f67 --reason "fixed in 2.4" --link https://wiki.example/tax'],
    argument: ['<group>', 'the group, as listed by "events list --groups"'],
    options: [GROUP.act, ['--link <url>', 'the web address of a runbook or a ticket'], withBy, withInbox()],
    notes: [
      'The events stay dead, and the overview no longer shows the group. The group reopens when another of its events ' +
        'becomes dead.',
    ],
    exitCodes: { 0: 'the group is acknowledged', 4: 'no dead event belongs to the group' },
    run: async () => (await import('./acknowledge.ts')).acknowledge,
  },

  reopen: {
    description: 'remove the acknowledgement of a group of dead events',
    examples: ['hookbox events reopen 5f3a9c0d1b2e4f67'],
    argument: ['<group>', 'the group, as listed by "events list --groups"'],
    options: [GROUP.act, withBy, withInbox()],
    exitCodes: { 0: 'the group is reopened', 4: 'the group was not acknowledged' },
    run: async () => (await import('./acknowledge.ts')).reopen,
  },

  prune: {
    description: 'remove the bodies of old events; their ids stay in the inbox',
    examples: [
      'hookbox events prune --older-than 30d --dry-run',
      'hookbox events prune --older-than 90d --state processed --state dead --yes',
    ],
    options: [
      GROUP.events,
      new Option(
        '--older-than <age>',
        'events settled before this time: an age (30d) or an ISO date (UTC)',
      ).makeOptionMandatory(),
      [
        '--state <state>',
        `events in this state: ${prunableStates.join(', ')} (repeatable; default: processed)`,
        collectedFrom(prunableStates),
      ],
      ['--type <type>', 'events of this type (repeatable)', collected],
      ['--endpoint <name>', 'events received at this endpoint (default: any)'],
      GROUP.act,
      DRY_RUN,
      YES,
      withBy,
      withInbox(),
    ],
    notes: [
      'A pruned event cannot be rerun, and exports do not contain its body. hookbox still recognises its redeliveries ' +
        'as duplicates.',
      'You can prune while deliveries arrive. The inbox keeps its size on disk and reuses the freed space.',
      'Pruning also indexes new events and merges old counts. If only serverless functions use the inbox, run prune ' +
        'once an hour.',
    ],
    run: async () => (await import('./remove.ts')).prune,
  },

  erase: {
    description: 'erase all data about one order, cart or product',
    examples: [
      'hookbox events erase ord_42 --dry-run',
      'hookbox events erase order:mer_7:ord_42 --yes --reason "request of 3 May"',
    ],
    argument: ['<entity>', 'the entity, as shown by "events list", or the id of the order, cart or product'],
    options: [GROUP.act, DRY_RUN, YES, withBy, withInbox()],
    notes: [
      'This erases the name of the entity, and the bodies, conflicting bodies and errors of all its events, whatever ' +
        'their state. Erased pending events are never handled. The audit keeps a hash of the name. Existing backups ' +
        'and exports still contain the data.',
    ],
    exitCodes: {
      0: 'all events of the entity are erased',
      3: 'some events are being processed, so they were not erased',
      4: 'no event of this entity was found',
    },
    run: async () => (await import('./remove.ts')).erase,
  },

  export: {
    description: 'export events with their bodies and attempts, by default one line of JSON per event',
    examples: [
      'hookbox events export > events.ndjson',
      'hookbox events export --state dead --out dead.ndjson',
      'hookbox events export --format csv --state dead --out dead.csv',
      'hookbox events export --since 24h | gzip > today.ndjson.gz',
    ],
    options: [
      GROUP.output,
      ['--out <file>', 'write to this file, which appears only when the export is complete'],
      new Option(
        '--format <format>',
        'exact keeps every byte and can be imported; csv and json are for people and other programs',
      )
        .choices(['exact', 'csv', 'json'])
        .default('exact'),
      ['--force', 'replace an existing file'],
      withFilter,
      withBy,
      withDb,
    ],
    notes: [
      'Without a filter, this writes all events, including pruned ones. The last line of an exact export confirms that ' +
        'the export is complete.',
      "Only the exact format can be imported. In csv, a single quote (') precedes text that a spreadsheet would run as " +
        'a formula.',
    ],
    run: async () => (await import('./export.ts')).exportTo,
  },

  import: {
    description: 'store the events of an export, or the ids of events that other code handled',
    examples: [
      'hookbox events import events.ndjson --dry-run',
      'hookbox events import events.ndjson --db moved.db --trusted',
      'gunzip -c today.ndjson.gz | hookbox events import - --db new.db',
      'hookbox events import --handled ids.txt',
    ],
    argument: ['<file>', 'the file that contains the export or the ids, or - for standard input'],
    options: [
      GROUP.act,
      ['--dry-run', 'check and count the events; change nothing'],
      [
        '--trusted',
        'also trust the facts in the export that the bodies do not prove; use this only for your own, unchanged export',
      ],
      ['--handled', 'read a file with one event id per line, and record each event as processed'],
      ['--endpoint <name>', 'with --handled: the endpoint of the ids (default: "default")'],
      withBy,
      withInbox(),
    ],
    notes: [
      'Without --trusted, hookbox stores every event as not verified, reads its entity from the body, and uses only ' +
        'the bodies to find the newest processed event of each entity. It rejects a line whose facts contradict its body.',
      'Events that are already in this inbox do not change, so you can repeat an import. If the inbox does not exist, ' +
        'hookbox creates it. The processor of this inbox handles the imported pending events, so first stop the ' +
        'processor of the old inbox.',
      'With --handled, hookbox treats a later delivery with one of these ids as a duplicate. If an event is already ' +
        'stored but not processed, the command prints its id and exits with 3.',
    ],
    exitCodes: {
      0: 'all events are in the inbox',
      1: 'the export is not complete',
      3: 'some events in the inbox have a different body, or are not processed',
    },
    run: async () => (await import('./import.ts')).importFrom,
  },

  stats: {
    description: 'show event counts, the oldest pending event, latencies and rates',
    examples: [
      'hookbox events stats',
      'hookbox events stats --since 7d --steps 7',
      'hookbox events stats --json | jq .now.oldestPending',
    ],
    options: [
      GROUP.output,
      ['--since <time>', 'count from this time on: an age (2h) or an ISO date (UTC)', '24h'],
      ['--until <time>', 'count until this time (default: now)'],
      ['--steps <n>', 'divide the period into this many steps', wholeNumber(1, 1_000), 24],
      withInbox(),
    ],
    notes: [
      'Latencies are upper bounds. In JSON, a latency is a number of milliseconds, null if nothing was measured, or ' +
        '"inf" if it exceeds a minute.',
    ],
    run: async () => (await import('./stats.ts')).printStats,
  },

  rejected: {
    description: 'list rejected deliveries and the causes of the rejections',
    examples: [
      'hookbox events rejected',
      'hookbox events rejected --json | jq -r \'select(.reason == "signature-mismatch").source\'',
    ],
    options: [
      GROUP.output,
      ['--limit <n>', 'list at most this many lines', wholeNumber(1, 1_000), 100],
      withWide,
      withInbox('print each line of the list as a line of JSON'),
    ],
    notes: [
      'Rejections of the same kind share a line. hookbox keeps the latest thousand lines, which contain no bodies.',
    ],
    run: async () => (await import('./stats.ts')).rejected,
  },

  backup: {
    description: 'copy the inbox to a new file; the inbox can stay in use',
    examples: ['hookbox events backup /backups/hookbox-$(date +%F).db'],
    argument: ['<file>', 'the new file'],
    options: [withBy, withInbox()],
    notes: ['The copy contains all data of the inbox at one moment. You can use the copy as an inbox.'],
    run: async () => (await import('./export.ts')).backUp,
  },

  bulks: {
    description: 'list bulk actions, newest first, or show the result of one action',
    examples: [
      'hookbox events bulks',
      'hookbox events bulks 7',
      'hookbox events bulks 7 --skipped',
      'hookbox events bulks --json | jq \'select(.state == "running").id\'',
    ],
    argument: ['[bulk-id]', 'show the result of this bulk action', wholeNumber(1)],
    options: [
      GROUP.output,
      ['--skipped', 'with an id: list the events that the action left unchanged, and why'],
      withNewest,
    ],
    run: async () => (await import('./audit.ts')).bulks,
  },

  audit: {
    description: 'list the actions of operators, newest first',
    examples: [
      'hookbox events audit',
      'hookbox events audit --actor ada --since 2026-01-30 --until 2026-01-31',
      "hookbox events audit --json | jq -r '[.at, .actor, .act] | @tsv'",
    ],
    options: [
      'Which entries:',
      ['--actor <name>', 'entries by this operator, as named in the audit'],
      ['--since <time>', 'entries from this time on: an age (2h) or an ISO date (UTC)'],
      ['--until <time>', 'entries from before this time'],
      withNewest,
    ],
    run: async () => (await import('./audit.ts')).audit,
  },
};

export const eventsCommand: CommandSpec = {
  description: 'find, understand and rerun stored events',
  examples: [
    'hookbox events list --state dead --since 24h',
    'hookbox events find ord_42',
    'hookbox events show evt_3PqT8mXkRz4VwYb2',
    'hookbox events rerun --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
    'hookbox events help rerun',
  ],
  commands,
};

function acting(
  act: Act,
  {
    all,
    notes = [],
    ...own
  }: Omit<CommandSpec, 'notes'> & { readonly all: string; readonly notes?: readonly string[] },
): CommandSpec {
  return {
    ...own,
    argument: [
      '[event-ids...]',
      'ids of events, full or shortened (evt_…wYb2); use ids or a filter, not both; with ids, --state limits the ' +
        'change to events in that state',
    ],
    options: [
      GROUP.act,
      ['--dry-run', 'show what would happen; change nothing'],
      YES,
      ['--all', `${all}, instead of only those that match a filter`],
      [
        '--rate <n>',
        'change at most this many events per second (default: as in its last run, or 500)',
        positiveNumber,
      ],
      ['--resume <bulk-id>', `continue a paused or stopped ${act}`, wholeNumber(1)],
      ['--pause <bulk-id>', `pause a ${act} that is running in another process`, wholeNumber(1)],
      ['--cancel <bulk-id>', `cancel a ${act} that has stopped or is running in another process`, wholeNumber(1)],
      ...(act === 'rerun' ? [FORCE] : []),
      withFilter,
      withBy,
      withWide,
      withInbox('print JSON: one line per event id, or one document for a bulk action'),
    ],
    notes: [
      'Given ids, hookbox acts immediately. Given a filter, it first shows the events that it found and asks you to ' +
        'type how many there are. Events that arrive later are not included. On Ctrl-C, hookbox finishes the current ' +
        'step, stops, and shows how to continue.',
      ...notes,
    ],
    exitCodes: {
      0: 'all events changed',
      1: 'no event changed, or you did not confirm',
      3: 'only some events changed',
      4: 'no event matched',
    },
    run: async () => (await import('./act.ts')).actOn.bind(null, act),
  };
}
