import type { CompletedOption, Place } from './completion-tree.ts';

/** The completion for fish, line by line. */
export function fishScript(places: readonly Place[]): readonly string[] {
  const known = places.filter(({ path }) => path !== '').map(({ path }) => path);
  return [
    'function __hookbox_at',
    `    set -l at ''`,
    '    for word in (commandline -opc)[2..-1]',
    '        switch "$at/$word"',
    `            case ${known.join(' ')}`,
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

/** What may stand at a place. */
function line({ path }: Place, what: readonly string[], description: string): string {
  const condition = inQuotes(path === '' ? "__hookbox_at ''" : `__hookbox_at ${path}`);
  const said = description === '' ? [] : ['-d', inQuotes(description)];
  return ['complete -c hookbox', '-n', condition, ...what, ...said].join(' ');
}

function optionOf({ flags, values }: CompletedOption): readonly string[] {
  const names = flags.flatMap((flag) => (flag.startsWith('--') ? ['-l', flag.slice(2)] : ['-s', flag.slice(1)]));
  if (values === null) return names;
  return values.length === 0 ? [...names, '-r'] : [...names, '-x', '-a', inQuotes(values.join(' '))];
}

/** In single quotes, as fish reads them. */
function inQuotes(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
