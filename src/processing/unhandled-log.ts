import { isEventType } from '../events/event-types.ts';
import type { Announced, IgnoredType, Scope, UnhandledType } from '../inbox/work.ts';
import { throttle, type Logger } from '../host/logger.ts';
import type { NamedInbox } from '../host/shell-words.ts';
import { oneLine } from '../printable.ts';
import { rerunIgnoredCommand } from './rerun-ignored-command.ts';

const HOUR_MS = 60 * 60_000;

/** Says in the log which events no processor handles. A type is the sender's text: all unknown types are reported as one. */
export function unhandledLog(logger: Logger) {
  const seldom = throttle(HOUR_MS);
  const told = new Set<string>();
  const kindOf = (endpoint: string, type: string): string =>
    JSON.stringify([endpoint, isEventType(type) ? type : 'other']);

  return {
    /** Once for each type. */
    ignored(ignored: Announced['ignored']): void {
      for (const { endpoint, type, count } of ignored) {
        const kind = kindOf(endpoint, type);
        if (told.has(kind)) continue;
        told.add(kind);
        logger.warn(
          { endpoint, type: oneLine(type), count },
          'events were ignored, because no processor has handled their type for seven days; when you have a ' +
            'handler, rerun them',
        );
      }
    },

    /** Events that wait for a processor. */
    waiting(unhandled: readonly UnhandledType[]): void {
      for (const { endpoint, type, count, more, since } of unhandled) {
        const facts = { endpoint, type: oneLine(type), waiting: more ? `more than ${count}` : count };
        if (since === null) {
          seldom(JSON.stringify([endpoint]), () => {
            logger.warn(
              facts,
              'events are stored, but no processor handles their endpoint: start one with createProcessor({ ' +
                'endpoint }), or call start() of the receiver for this endpoint',
            );
          });
          continue;
        }
        seldom(kindOf(endpoint, type), () => {
          logger.warn(
            facts,
            `no processor has handled ${oneLine(type)} since ${since.toISOString()}: its events wait until a ` +
              'processor that handles this type runs',
          );
        });
      }
    },

    /**
     * Events that were put away before this processor came do not come back by themselves: a new handler must not write
     * to the customers of a whole week.
     */
    putAway(ignored: readonly IgnoredType[], { types }: Pick<Scope, 'types'>, since: Date, inbox: NamedInbox): void {
      for (const endpoint of new Set(ignored.map((one) => one.endpoint))) {
        const here = ignored.filter((one) => one.endpoint === endpoint && one.handled);
        if (here.length === 0) continue;
        const count = here.reduce((sum, one) => sum + one.count, 0);
        const named = types === '*' ? [] : here.map(({ type }) => type);
        const command = rerunIgnoredCommand({ endpoint, types: named, ignoredSince: since }, inbox);
        logger.warn(
          { endpoint, count: here.some(({ more }) => more) ? `more than ${count}` : count, command },
          'events that this processor can handle were ignored in the last seven days; to rerun them, run the command in this log entry',
        );
      }
    },
  };
}
