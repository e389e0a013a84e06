import { inQuotes } from '../../host/shell-words.ts';
import type { Place, Word } from './completion-tree.ts';

/** The completion for zsh, line by line: for a folder of `fpath`, or to be read by .zshrc after `compinit`. */
export function zshScript(places: readonly Place[]): readonly string[] {
  const known = places.filter(({ path }) => path !== '').map(({ path }) => path);
  return [
    '#compdef hookbox',
    '_hookbox() {',
    `  local at='' word`,
    '  local -a names flags',
    `  for word in "\${(@)words[2,CURRENT-1]}"; do`,
    '    case "$at/$word" in',
    `      (${known.join('|')}) at="$at/$word" ;;`,
    '    esac',
    '  done',
    `  case "$at \${words[CURRENT-1]}" in`,
    ...places.flatMap(valueLines),
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

function valueLines({ path, options }: Place): readonly string[] {
  return options.flatMap(({ flags, values }) => {
    if (values === null) return [];
    const pattern = flags.map((flag) => inQuotes(`${path} ${flag}`)).join('|');
    const found = values.length === 0 ? '_files' : `compadd -- ${values.join(' ')}`;
    return [`    (${pattern}) ${found}; return ;;`];
  });
}

/** As `_describe` takes them: a colon stands before what it is for. */
function described(words: readonly Word[]): string {
  return words
    .map(({ word, description }) =>
      inQuotes(description === '' ? word : `${word}:${description.replaceAll(':', String.raw`\:`)}`),
    )
    .join(' ');
}
