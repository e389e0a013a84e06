import { Command, type Argument, type Option } from 'commander';
import { format } from 'prettier';
import { examplesOf, examplesText } from '../../src/cli/shared/command.ts';
import { withBy, withFilter, withInbox } from '../../src/cli/events/event-options.ts';
import { withSecret } from '../../src/cli/shared/secret-option.ts';
import { withSending } from '../../src/cli/shared/sending/sending-options.ts';

/** What several commands have: the page describes it once. */
const GROUPS: readonly (readonly [name: string, options: readonly Option[]])[] = [
  ['Filters', withFilter(new Command()).options],
  ['Sending', withSending(new Command()).options],
  ['Audit', withBy(new Command()).options],
  ['Inbox', withInbox(new Command()).options.filter(({ long }) => long === '--db')],
  ['Secret', withSecret(new Command()).options],
];

/** docs/cli.md, made of the commands themselves. */
export async function cliPage(program: Command): Promise<string> {
  const commands = leavesOf(program).filter(([, command]) => command.name() !== 'help');
  const page = [
    '# The `hookbox` command',
    INTRODUCTION,
    '## What several commands have',
    ...GROUPS.map(([name, options]) => `### ${name}\n\n${listOf(options)}`),
    ...commands.map(([path, command]) => sectionOf(path, command)),
  ];
  return format(page.join('\n\n'), { parser: 'markdown', printWidth: 120, singleQuote: true });
}

const INTRODUCTION = `This page lists what each command takes. It is made of the commands themselves (\`npm run docs\` writes it), and \`hookbox <command> --help\` says the same. Install the package and call it as \`npx hookbox …\`; in a clone of the repository as \`npm run --silent hookbox -- …\`.

- **Output.** Data goes to standard output, everything else to standard error. \`--json\` prints one JSON document, or one a line where a command prints a stream. Colours are left out in a pipe and with \`NO_COLOR\`.
- **Secret.** It comes from \`SIGNING_SECRET\`, from a file or from a prompt, never from an argument.
- **Targets.** Commands deliver to this machine only, unless \`--allow-remote\` is given.

| exit code | meaning |
|---|---|
| 0 | it worked |
| 1 | it failed, or the answer is no |
| 2 | the arguments cannot work |
| 3 | some of it worked |
| 4 | what was named is not there |
| 130 | interrupted, or the reader of its output went away |`;

function leavesOf(command: Command, path: readonly string[] = []): (readonly [string, Command])[] {
  const here = [...path, command.name()];
  if (command.commands.length === 0) return [[here.join(' '), command]];
  return command.commands.flatMap((each) => leavesOf(each, here));
}

function sectionOf(path: string, command: Command): string {
  const visible = command.options.filter((option) => !option.hidden);
  const groups = GROUPS.filter(([, options]) => options.every((option) => visible.some(same(option))));
  // Every sender reads the secret in the same way: the larger group comes first, and says it.
  const grouped: Option[] = [];
  const also = groups.filter(([, options]) => {
    if (options.every((option) => grouped.some(same(option)))) return false;
    grouped.push(...options);
    return true;
  });
  const own = visible.filter((option) => !grouped.some(same(option)));
  return [
    `## ${path}`,
    sentence(command.description()),
    [
      listOf([...command.registeredArguments, ...own]),
      also.length === 0 ? '' : `- also: ${also.map(([name]) => `[${name}](#${name.toLowerCase()})`).join(', ')}`,
    ]
      .filter((part) => part !== '')
      .join('\n'),
    `\`\`\`sh\n${examplesOf(command).join('\n')}\n\`\`\``,
    notesOf(command),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function same(option: Option): (other: Option) => boolean {
  return (other) => other.flags === option.flags && about(other) === about(option);
}

function listOf(all: readonly (Argument | Option)[]): string {
  return all.map((one) => `- \`${'flags' in one ? one.flags : shown(one)}\`: ${about(one)}`).join('\n');
}

/** What its help says after the examples; lists keep their lines. */
function notesOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help
    .slice(command.helpInformation().length)
    .replace(examplesText(examplesOf(command)), '')
    .split(/\n\n+|\n(?=Exit codes:)/)
    .map((part) => part.replaceAll(/^\n+|\n+$/g, ''))
    .map((part) => (/^ /m.test(part) ? `\`\`\`text\n${part}\n\`\`\`` : part))
    .join('\n\n');
}

function shown(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function about(described: Argument | Option): string {
  const given: unknown = described.defaultValue;
  const isTelling = given !== undefined && given !== false && !(Array.isArray(given) && given.length === 0);
  const variable = 'envVar' in described ? described.envVar : undefined;
  const more = [
    ...(described.argChoices === undefined ? [] : [`one of ${coded(described.argChoices)}`]),
    ...(variable === undefined ? [] : [`${coded([variable])} says it too`]),
    ...(isTelling ? [`default \`${typeof given === 'string' ? given : JSON.stringify(given)}\``] : []),
  ];
  const text = more.length === 0 ? described.description : `${described.description} (${more.join('; ')})`;
  return text;
}

function coded(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ');
}

function sentence(description: string): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
}
