import { inboxOptions, option, type NamedInbox } from '../host/shell-words.ts';

/** The command that reruns what was ignored for want of a handler. */
export function rerunIgnoredCommand(
  {
    endpoint,
    types,
    ignoredSince,
  }: { readonly endpoint: string; readonly types: readonly string[]; readonly ignoredSince: Date },
  inbox: NamedInbox,
): string {
  return [
    'hookbox events rerun',
    ...inboxOptions(inbox),
    ...option('--endpoint', endpoint),
    ...types.flatMap((type) => option('--type', type)),
    ...option('--ignored-since', ignoredSince.toISOString()),
  ].join(' ');
}
