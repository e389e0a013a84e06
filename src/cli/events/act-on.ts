import type { Act } from '../../ops/index.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { usageError, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import type { ActOnOptions } from './act-options.ts';
import { actOnIds } from './act-on-ids.ts';
import { actOnFound, cancel, resume } from './act-on-found.ts';
import { eventFilterOf, isEverything } from './filter-from-options.ts';

/** Reruns or discards the events that the arguments mean, and resolves with how to exit. */
export async function actOn(act: Act, ids: readonly string[], options: ActOnOptions): Promise<ExitCode> {
  const { db, all = false, dryRun = false, force = false } = options;
  const filter = eventFilterOf(options);
  const { endpoint: _, ...beyondEndpoint } = filter;
  const bulk = options.resume ?? options.cancel;
  const ways = [
    ids.length > 0,
    all || !isEverything(ids.length > 0 ? beyondEndpoint : filter),
    options.resume !== undefined,
    options.cancel !== undefined,
  ].filter(Boolean).length;
  if (ways === 0) {
    throw usageError(`Say what to ${act}: event ids, a filter such as --state dead --since 2h, or --all.`);
  }
  if (ways > 1) throw usageError('Give event ids, or a filter, or --resume, or --cancel: only one of them.');
  if (all && !isEverything(filter)) throw usageError('--all means every event. Leave it out where there is a filter.');
  if (bulk !== undefined && (dryRun || force)) {
    throw usageError('What a bulk act does was settled by its preview. Leave --dry-run and --force out.');
  }

  const signal = interruption();
  await using inbox = existingInbox(db);
  if (options.cancel !== undefined) return await cancel(inbox, act, options.cancel, options);
  if (options.resume !== undefined) return await resume(inbox, act, options.resume, options, signal);
  if (ids.length > 0) return await actOnIds(inbox, act, ids, options, signal);
  return await actOnFound(inbox, act, filter, options, signal);
}
