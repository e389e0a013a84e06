import type { Command, Option } from 'commander';
import { eventTypes } from '../events/event-types.ts';
import { inQuotes } from '../host/shell-words.ts';
import { deadReasons, eventStates } from '../inbox/event.ts';
import { probeNames } from './check/probe-names.ts';
import { hookboxProgram } from './program.ts';
import { print } from './shared/output.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export async function printScript(shell: keyof typeof SCRIPTS): Promise<void> {
  print(scriptFor(shell, await hookboxProgram()));
}

export function scriptFor(shell: keyof typeof SCRIPTS, program: Command): readonly string[] {
  const places = placesOf(program);
  const paths = places.map(({ path }) => path).filter((path) => path !== '');
  return SCRIPTS[shell](places, paths);
}

interface Word {
  readonly word: string;
  readonly description: string;
}

interface CompletedOption {
  /** with their dashes; the longest last */
  readonly flags: readonly string[];
  readonly description: string;
  /** `[]`: any value may follow; `null`: no value follows */
  readonly values: readonly string[] | null;
}

interface Place {
  /** the commands so far: `/events/list`; empty for `hookbox` itself */
  readonly path: string;
  readonly words: readonly Word[];
  /** no file completes it */
  readonly only: boolean;
  readonly options: readonly CompletedOption[];
}

/** Values of names in angle or square brackets that the parser does not know. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  event: eventTypes,
  type: eventTypes,
  state: eventStates,
  reason: deadReasons,
  probe: probeNames,
};

const HELP: CompletedOption = { flags: ['-h', '--help'], description: 'show this help', values: null };

function placesOf(program: Command, path = ''): readonly Place[] {
  const { commands, registeredArguments, options } = program;
  const beneath = commands.map((each) => ({ word: each.name(), description: each.description() }));
  const values = registeredArguments.flatMap((argument) => argument.argChoices ?? VALUES[argument.name()] ?? []);
  const place: Place = {
    path,
    only: beneath.length > 0 || registeredArguments.some(({ argChoices }) => argChoices !== undefined),
    words: [...beneath, ...values.map((word) => ({ word, description: '' }))],
    options: [...options.filter(({ hidden }) => !hidden).map(completed), HELP],
  };
  return [place, ...commands.flatMap((each) => placesOf(each, `${path}/${each.name()}`))];
}

function completed({ flags, short, long, description, argChoices }: Option): CompletedOption {
  const [, name] = /[<[]([\w-]+)/.exec(flags) ?? [];
  const values = name === undefined ? null : (argChoices ?? VALUES[name] ?? []);
  return { flags: [short, long].filter((flag) => flag !== undefined), description, values };
}

/** For bash 3.2 and newer. */
function bashScript(places: readonly Place[], paths: readonly string[]): readonly string[] {
  return [
    '_hookbox() {',
    `  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at='' words='' flags='' i`,
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    case "$at/\${COMP_WORDS[i]}" in`,
    `      ${paths.join('|')}) at="$at/\${COMP_WORDS[i]}" ;;`,
    '    esac',
    '  done',
    '  COMPREPLY=()',
    '  case "$at $prev" in',
    ...valueCases(places, (pattern, values) => {
      const words = values.length === 0 ? '' : ` COMPREPLY=($(compgen -W ${inQuotes(values.join(' '))} -- "$cur"));`;
      return `    ${pattern})${words} return ;;`;
    }),
    '  esac',
    '  case "$at" in',
    ...places.map(({ path, words, options }) => {
      const flags = options.flatMap((option) => option.flags).join(' ');
      return `    ${inQuotes(path)}) words=${inQuotes(words.map(({ word }) => word).join(' '))} flags=${inQuotes(flags)} ;;`;
    }),
    '  esac',
    '  if [[ $cur == -* ]]; then words=$flags; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '}',
    '# If nothing matches, bash completes file names.',
    'complete -o default -F _hookbox hookbox',
  ];
}

/** For a folder of `fpath`, or for .zshrc after `compinit`. */
function zshScript(places: readonly Place[], paths: readonly string[]): readonly string[] {
  return [
    '#compdef hookbox',
    '_hookbox() {',
    `  local at='' word`,
    '  local -a names flags',
    `  for word in "\${(@)words[2,CURRENT-1]}"; do`,
    '    case "$at/$word" in',
    `      (${paths.join('|')}) at="$at/$word" ;;`,
    '    esac',
    '  done',
    `  case "$at \${words[CURRENT-1]}" in`,
    ...valueCases(places, (pattern, values) => {
      const words = values.length === 0 ? '_files' : `compadd -- ${values.join(' ')}`;
      return `    (${pattern}) ${words}; return ;;`;
    }),
    '  esac',
    '  case "$at" in',
    ...places.map(({ path, words, options }) => {
      const flags = options.flatMap(({ flags, description }) => flags.map((word) => ({ word, description })));
      return `    (${inQuotes(path)}) names=(${described(words)}) flags=(${described(flags)}) ;;`;
    }),
    '  esac',
    '  if [[ $PREFIX == -* ]]; then',
    '    _describe -o option flags',
    '  else',
    '    _describe word names || _files',
    '  fi',
    '}',
    'if [[ ${funcstack[1]} == _hookbox ]]; then _hookbox "$@"; else compdef _hookbox hookbox; fi',
  ];
}

function valueCases(
  places: readonly Place[],
  line: (pattern: string, values: readonly string[]) => string,
): readonly string[] {
  return places.flatMap(({ path, options }) =>
    options.flatMap(({ flags, values }) =>
      values === null ? [] : [line(flags.map((flag) => inQuotes(`${path} ${flag}`)).join('|'), values)],
    ),
  );
}

/** `_describe` needs an escaped colon. */
function described(words: readonly Word[]): string {
  return words
    .map(({ word, description }) =>
      inQuotes(description === '' ? word : `${word}:${description.replaceAll(':', String.raw`\:`)}`),
    )
    .join(' ');
}

function fishScript(places: readonly Place[], paths: readonly string[]): readonly string[] {
  return [
    'function __hookbox_at',
    `    set -l at ''`,
    '    for word in (commandline -opc)[2..-1]',
    '        switch "$at/$word"',
    `            case ${paths.join(' ')}`,
    '                set at "$at/$word"',
    '        end',
    '    end',
    '    test "$at" = "$argv[1]"',
    'end',
    ...places.flatMap((place) => [
      ...place.words.map(({ word, description }) =>
        line(place, [...(place.only ? ['-f'] : []), '-a', word], description),
      ),
      ...place.options.map((option) => line(place, optionOf(option), option.description)),
    ]),
  ];
}

function line({ path }: Place, what: readonly string[], description: string): string {
  const condition = fishQuoted(path === '' ? "__hookbox_at ''" : `__hookbox_at ${path}`);
  const said = description === '' ? [] : ['-d', fishQuoted(description)];
  return ['complete -c hookbox', '-n', condition, ...what, ...said].join(' ');
}

function optionOf({ flags, values }: CompletedOption): readonly string[] {
  const names = flags.flatMap((flag) => (flag.startsWith('--') ? ['-l', flag.slice(2)] : ['-s', flag.slice(1)]));
  if (values === null) return names;
  return values.length === 0 ? [...names, '-r'] : [...names, '-x', '-a', fishQuoted(values.join(' '))];
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
