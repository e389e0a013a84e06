import { ConfigurationError } from '../../../../errors.ts';
import type { EventKey } from '../../../event.ts';
import type { ActReport, Acts } from '../../../operator/acts.ts';
import type { SqliteDatabase } from '../../database.ts';
import { type Access } from '../access.ts';
import { statement } from '../../prepared-statement.ts';
import { actOnEach, rowOfKey } from './act-on-event.ts';
import { addAuditLine, authorOf } from '../audit/audit-line.ts';
import { bulks } from './bulks.ts';
import { Sums } from '../../../operator/sums.ts';

const MOST_KEYS = 500;
/** What is parsed at once blocks the event loop: this much for about ten milliseconds. One event may have more. */
const MOST_BYTES = 512 * 1024;

/** Acts on the events of a file. */
export function acts(access: Access): Acts {
  return {
    async act(act, keys, by, { force = false, entity }) {
      const author = authorOf(by);
      refuseTooMany(access.database(), keys);
      const report = await access.write((database, statements): ActReport => {
        const acting = { act, force, entity, now: author.now };
        const look = (key: EventKey) => rowOfKey(database, key);
        const outcomes = actOnEach(database, statements, keys, look, acting);
        const counts = new Sums().add(...outcomes).toRecord();
        const audit = addAuditLine(database, act, author, { ...named(keys), ...(force && { force }) }, counts);
        const results = outcomes.map((result, at) => ({ key: keys[at] as EventKey, result })); // one for each key
        return { results, counts, audit };
      });
      if (report.counts.done !== undefined) access.notify();
      return report;
    },
    ...bulks(access),
  };
}

function refuseTooMany(database: SqliteDatabase, keys: readonly EventKey[]): void {
  if (keys.length > MOST_KEYS) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `${keys.length} events are too many for one act: ${MOST_KEYS} is the most. Use a bulk (previewBulk, then runBulk).`,
    );
  }
  if (keys.length < 2) return;
  const size = statement(database, 'SELECT length(body) AS bytes FROM hookbox_events WHERE id = ? AND endpoint = ?');
  let bytes = 0;
  for (const { id, endpoint } of keys) {
    bytes += (size.get(id, endpoint) as { bytes: number | null } | undefined)?.bytes ?? 0;
  }
  if (bytes <= MOST_BYTES) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `The bodies of these ${keys.length} events have ${bytes} bytes together, and ${MOST_BYTES} is the most for one act. ` +
      'Name fewer at a time, or use a bulk (previewBulk, then runBulk).',
  );
}

/** What the audit says an act was about: `{ endpoint, ids }`, or a list of these where there are several endpoints. */
function named(keys: readonly EventKey[]) {
  const byEndpoint = Object.groupBy(keys, ({ endpoint }) => endpoint);
  const groups = Object.entries(byEndpoint).map(([endpoint, of = []]) => ({ endpoint, ids: of.map(({ id }) => id) }));
  const [only] = groups;
  return only !== undefined && groups.length === 1 ? only : { events: groups };
}
