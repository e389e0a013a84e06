import { option } from '../host/shell-words.ts';

/**
 * The command that reruns what was ignored for want of a handler.
 *
 * @param db - the inbox's file, which is left out where it is not known
 */
export function rerunIgnoredCommand(
  {
    endpoint,
    types,
    ignoredSince,
  }: { readonly endpoint: string; readonly types: readonly string[]; readonly ignoredSince: Date },
  db?: string,
): string {
  return [
    'hookbox events rerun',
    ...(db === undefined ? [] : option('--db', db)),
    ...option('--endpoint', endpoint),
    ...types.flatMap((type) => option('--type', type)),
    ...option('--ignored-since', ignoredSince.toISOString()),
  ].join(' ');
}
