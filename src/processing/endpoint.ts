import { ConfigurationError } from '../errors.ts';
import { inboxOptions, quoted, type NamedInbox } from '../host/shell-words.ts';
import { LONGEST_ENDPOINT, type EventKey } from '../inbox/event.ts';
import type { Act } from '../inbox/operator/acts.ts';

export const DEFAULT_ENDPOINT = 'default';

export function assertEndpoint(endpoint: unknown): asserts endpoint is string {
  const given = mistaken(endpoint);
  if (given === null) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `endpoint must name a webhook registration, such as 'shop-a', not ${given}. Omit it for '${DEFAULT_ENDPOINT}'; ` +
      "only processors accept '*', which means every endpoint.",
  );
}

function mistaken(endpoint: unknown): string | null {
  if (typeof endpoint !== 'string') return typeof endpoint;
  if (endpoint === '') return 'an empty string';
  if (endpoint === '*') return "'*'";
  // No database can store it, so two names would become equal.
  if (!endpoint.isWellFormed()) return 'a string with a lone surrogate';
  return endpoint.length > LONGEST_ENDPOINT ? `a string of more than ${LONGEST_ENDPOINT} characters` : null;
}

/** @throws ConfigurationError `INVALID_OPTION` */
export function endpointsOf(endpoint: string | readonly string[] = DEFAULT_ENDPOINT): readonly string[] | '*' {
  if (endpoint === '*') return '*';
  const names: readonly unknown[] = Array.isArray(endpoint) ? endpoint : [endpoint];
  if (names.length === 0) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      "endpoint must not be an empty list. Name the endpoints, or use '*' for all.",
    );
  }
  return [...new Set(names)].map((name) => {
    assertEndpoint(name);
    return name;
  });
}

/** The command with the same effect as a button of the page. */
export function eventCommand(
  act: 'show' | Act,
  { endpoint, id }: EventKey,
  { force = false, raw = false, ...inbox }: NamedInbox & { readonly force?: boolean; readonly raw?: boolean } = {},
): string {
  const options = [
    ...inboxOptions(inbox),
    ...(endpoint === 'default' ? [] : ['--endpoint', quoted(endpoint)]),
    ...(force ? ['--force'] : []),
    ...(raw ? ['--raw'] : []),
  ];
  // Behind -- an id may begin with a dash.
  return ['hookbox events', act, ...options, ...(id.startsWith('-') ? ['--'] : []), quoted(id)].join(' ');
}
