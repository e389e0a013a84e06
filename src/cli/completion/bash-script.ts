import { inQuotes } from '../../host/shell-words.ts';
import type { Place } from './completion-tree.ts';

/** The completion for bash 3.2 and newer, line by line. */
export function bashScript(places: readonly Place[]): readonly string[] {
  const known = places.filter(({ path }) => path !== '').map(({ path }) => path);
  return [
    '_hookbox() {',
    `  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at='' words='' flags='' i`,
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    case "$at/\${COMP_WORDS[i]}" in`,
    `      ${known.join('|')}) at="$at/\${COMP_WORDS[i]}" ;;`,
    '    esac',
    '  done',
    '  COMPREPLY=()',
    '  case "$at $prev" in',
    ...places.flatMap(valueLines),
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

function valueLines({ path, options }: Place): readonly string[] {
  return options.flatMap(({ flags, values }) => {
    if (values === null) return [];
    const pattern = flags.map((flag) => inQuotes(`${path} ${flag}`)).join('|');
    const found = values.length === 0 ? '' : ` COMPREPLY=($(compgen -W ${inQuotes(values.join(' '))} -- "$cur"));`;
    return [`    ${pattern})${found} return ;;`];
  });
}
