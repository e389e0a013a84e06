import type { Argument, Command, Option } from 'commander';
import { format } from 'prettier';
import { examplesOf, examplesText } from '../../src/cli/command.ts';

/** docs/cli.md, made of the commands themselves. */
export async function cliPage(program: Command): Promise<string> {
  const commands = leavesOf(program).filter(([, command]) => command.name() !== 'help');
  const page = [
    '# The `hookbox` command',
    'This page is made of the commands themselves (`npm run docs` writes it), and `hookbox <command> --help` says the same.',
    INTRODUCTION,
    ...commands
      .map(([path]) => `- [\`${path}\`](#${path.replaceAll(' ', '-')})`)
      .join('\n')
      .split('\n\n'),
    ...commands.map(([path, command]) => sectionOf(path, command)),
  ];
  return format(page.join('\n\n'), { parser: 'markdown', printWidth: 120, singleQuote: true });
}

const INTRODUCTION = `Data goes to standard output, everything else to standard error. \`--json\` prints one JSON document, or one a line where a command prints a stream. Colours are left out in a pipe and with \`NO_COLOR\`. The signing secret comes from \`SIGNING_SECRET\`, from \`--secret-file\`, or from a prompt, and is never an argument.

| exit code | meaning |
|---|---|
| 0 | it worked |
| 1 | it failed, or the answer is no |
| 2 | the arguments cannot work |
| 3 | some of it worked |
| 4 | what was named is not there |
| 130 | interrupted, also by a reader of its output that went away |`;

function leavesOf(command: Command, path: readonly string[] = []): (readonly [string, Command])[] {
  const here = [...path, command.name()];
  if (command.commands.length === 0) return [[here.join(' '), command]];
  return command.commands.flatMap((each) => leavesOf(each, here));
}

function sectionOf(path: string, command: Command): string {
  const parent = path.split(' ').slice(0, -1).join(' ');
  const rows = [
    ...command.registeredArguments.map((argument: Argument) => [`\`${shown(argument)}\``, about(argument)]),
    ...command.options.filter((option) => !option.hidden).map((option) => [`\`${option.flags}\``, about(option)]),
  ];
  return [
    `## ${path}`,
    `\`${parent} ${command.name()} ${command.usage()}\``.replace(/ `$/, '`'),
    sentence(command.description()),
    rows.length === 0 ? '' : ['| | |', '|---|---|', ...rows.map(([name, text]) => `| ${name} | ${text} |`)].join('\n'),
    `\`\`\`sh\n${examplesOf(command).join('\n')}\n\`\`\``,
    notesOf(command),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
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
    ...(isTelling ? [`${JSON.stringify(given)} unless given`] : []),
  ];
  const text = more.length === 0 ? described.description : `${described.description} (${more.join('; ')})`;
  return text.replaceAll('|', '\\|');
}

function coded(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ');
}

function sentence(description: string): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
}
