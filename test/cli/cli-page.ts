import { Command, type Argument, type Option } from 'commander';
import { format } from 'oxfmt';
import { examplesOf } from '../../src/cli/shared/command.ts';
import { withBy, withFilter } from '../../src/cli/events/event-options.ts';
import { withSending } from '../../src/cli/shared/sending/sending-options.ts';

/** What several commands have: the page names their options once. */
const GROUPS: readonly (readonly [name: string, options: readonly Option[]])[] = [
  ['Filters', withFilter(new Command()).options],
  ['Sending options', withSending(new Command()).options],
  ['Audit options', withBy(new Command()).options],
];

/** What the introduction describes for all commands that have it. */
const COMMON: ReadonlySet<string> = new Set(['--json', '--db', '--schema', '--secret-file', '--allow-remote']);

/** docs/cli.md, made of the commands themselves: what each is for and how it is called; its help says the rest. */
export async function cliPage(program: Command): Promise<string> {
  const commands = leavesOf(program).filter(([, command]) => command.name() !== 'help');
  const page = [
    '# The `hookbox` command',
    INTRODUCTION,
    ...GROUPS.map(([name, options]) => `## ${name}\n\n${namesOf(options)}`),
    ...commands.map(([path, command]) => sectionOf(path, command)),
  ];
  return (await format('cli.md', page.join('\n\n'), { printWidth: 120, singleQuote: true })).code;
}

const INTRODUCTION = `This page shows what each command is for and how to call it. \`hookbox <command> --help\` describes each option, with its default, and says what else there is to know. \`npm run docs\` makes the page of the commands.

Install the package and call it as \`npx hookbox …\`; in a clone of the repository as \`npm run --silent hookbox -- …\`. Where \`hookbox\` is on your PATH, or an alias of \`npx hookbox\`, bash, zsh and fish [complete it](#hookbox-completion).

- **Output.** Data goes to standard output, everything else to standard error. \`--json\` prints one JSON document, or one a line where a command prints a stream. Colours are left out in a pipe and with \`NO_COLOR\`. Tables are made to fit a terminal, with names shortened in the middle; \`--wide\`, and any pipe, has all of it.
- **Secret.** It comes from \`SIGNING_SECRET\`, from a file (\`--secret-file\`) or from a prompt, never from an argument.
- **Inbox.** \`--db\`, or else \`HOOKBOX_DB\`, names its file, or the URL of one in Postgres: \`postgres://…\`, with \`--schema\` where that is not \`hookbox\`. It is the file \`hookbox.db\` unless given, and an empty name is refused, as is one that was not meant for a path (\`file:x.db\`, \`\${VAR}\`, \`undefined\`). A URL with a password belongs into \`HOOKBOX_DB\`: arguments are seen by every user of the machine. What is printed has neither the user nor the password in it. \`--db\` of \`hookbox sandbox\` is a file that holds the sandbox, which is in memory unless it is given.
- **Targets.** Commands deliver to this machine only, unless \`--allow-remote\` is given. \`localhost:3000/webhooks\` means http. \`--header 'Name: value'\` is for what stands before the receiver; \`--header @file\` keeps a password out of the arguments.
- **Environment.** \`HOOKBOX_DB\`, \`HOOKBOX_URL\` (\`--to\`), \`SIGNING_SECRET\` and \`PORT\` stand in for options; \`PORT\` is where \`serve\` listens, \`doctor\` looks, and \`trigger\` and \`replay\` deliver to. \`--env-file .env\`, anywhere on the line, takes them from a file, unless they are set already.

Exit codes, where a command does not say more:

- 0: it worked
- 1: it failed, or the answer is no
- 2: the arguments cannot work
- 3: some of it worked
- 4: what was named is not there
- 130: interrupted, or the reader of its output went away`;

function leavesOf(command: Command, path: readonly string[] = []): (readonly [string, Command])[] {
  const here = [...path, command.name()];
  const below = command.commands.flatMap((each) => leavesOf(each, here));
  return isRunnable(command) ? [[here.join(' '), command], ...below] : below;
}

/** Whether a command does something itself: one with others beneath it does where it has options of its own. */
export function isRunnable(command: Command): boolean {
  return command.commands.length === 0 || (command.parent !== null && command.options.length > 0);
}

function sectionOf(path: string, command: Command): string {
  const visible = command.options.filter((option) => !option.hidden);
  const groups = GROUPS.filter(([, options]) => options.every((option) => visible.some(same(option))));
  const own = visible.filter(
    (option) => !COMMON.has(option.long ?? '') && !groups.some(([, options]) => options.some(same(option))),
  );
  const takes = [
    ...command.registeredArguments.map((argument) => `\`${shown(argument)}\``),
    ...groups.map(([name]) => `[${name.toLowerCase()}](#${name.toLowerCase().replaceAll(' ', '-')})`),
    ...(own.length === 0 ? [] : [namesOf(own)]),
  ];
  return [
    `## ${path}`,
    [sentence(command.description()), ...(takes.length === 0 ? [] : [`It takes ${takes.join(', ')}.`])].join(' '),
    `\`\`\`sh\n${examplesOf(command).join('\n')}\n\`\`\``,
    exitCodesOf(command),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function same(option: Option): (other: Option) => boolean {
  return (other) => other.flags === option.flags;
}

function namesOf(options: readonly Option[]): string {
  return options.map(({ flags }) => `\`${flags.replace(/ [<[].*/, '')}\``).join(', ');
}

/** What its help says after the examples: of that, what its exit codes mean. */
function exitCodesOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return /^Exit codes: .*$/m.exec(help)?.[0] ?? '';
}

function shown(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function sentence(description: string): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
}
