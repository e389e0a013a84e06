import { Command, type Argument, type Option } from 'commander';
import { format } from 'oxfmt';
import { examplesOf, exitCodesOf } from '../../src/cli/shared/command.ts';
import { withBy, withFilter } from '../../src/cli/events/options.ts';
import { withSending } from '../../src/cli/shared/options.ts';

const GROUPS: readonly (readonly [name: string, options: readonly Option[]])[] = [
  ['Filters', withFilter(new Command()).options],
  ['Sending options', withSending(new Command()).options],
  ['Audit options', withBy(new Command()).options],
];

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

const INTRODUCTION = `If you work in a terminal, find the right command here, with its options and examples. \`hookbox <command> --help\` describes each option and its default. \`npm run docs\` generates this page from the commands.

Install the package and run \`npx hookbox …\`; in a clone of the repository, run \`npm run --silent hookbox -- …\`. If \`hookbox\` is on your PATH, or is an alias for \`npx hookbox\`, bash, zsh and fish can [complete it](#hookbox-completion).

- **Output.** Data goes to standard output, everything else to standard error. \`--json\` prints one JSON document or, for a stream, one document per line. Colours are off in a pipe, or if \`NO_COLOR\` is set. Tables fit the terminal: times and states are shortened first, ids and types last. You can paste a shortened id (\`evt_…wYb2\`) into a command. With \`--wide\`, or in a pipe, nothing is shortened.
- **Secret.** hookbox reads the secret from \`SIGNING_SECRET\`, from a file (\`--secret-file\`) or from a prompt, never from an argument.
- **Inbox.** \`--db\` or \`HOOKBOX_DB\` is the path of a SQLite file or a Postgres URL (\`postgres://…\`). The default is \`hookbox.db\`. \`--schema\` names the Postgres schema. An empty \`--db\` and likely mistakes (\`file:x.db\`, \`\${VAR}\`, \`undefined\`) are errors. Put a URL with a password into \`HOOKBOX_DB\`: every user of the machine can see arguments. Output never contains the user or the password of the URL. For \`hookbox sandbox\`, \`--db\` is the file in which it keeps its state.
- **Targets.** Commands deliver only to this machine, unless you pass \`--allow-remote\`. \`localhost:3000/webhooks\` means \`http://localhost:3000/webhooks\`. \`--header 'Name: value'\` adds a header, for example for a proxy in front of the receiver; \`--header @file\` keeps a password out of the arguments.
- **Environment.** \`HOOKBOX_DB\`, \`HOOKBOX_URL\` (for \`--to\`), \`SIGNING_SECRET\` and \`PORT\` stand in for options that you omit (\`sandbox\` ignores the first and the last). \`serve\` listens on \`PORT\`, \`doctor\` checks it, and \`trigger\` and \`replay\` deliver to it. \`--env-file .env\`, anywhere on the line, reads variables from a file; variables that are already set keep their values.

Exit codes, unless a command lists others:

- 0: success
- 1: failure, or a negative answer
- 2: invalid arguments
- 3: partial success
- 4: not found
- 130: interrupted, or the reader of the output closed it`;

function leavesOf(command: Command, path: readonly string[] = []): (readonly [string, Command])[] {
  const here = [...path, command.name()];
  const below = command.commands.flatMap((each) => leavesOf(each, here));
  return isRunnable(command) ? [[here.join(' '), command], ...below] : below;
}

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
    exitCodeLine(command),
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

function exitCodeLine(command: Command): string {
  const codes = exitCodesOf(command);
  return codes === '' ? '' : `Exit codes: ${codes}.`;
}

function shown(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function sentence(description: string): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
}
