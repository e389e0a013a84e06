import { setImmediate as nextTurn } from 'node:timers/promises';
import { readEvent } from '../../events/parse.ts';
import { ConfigurationError } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { EventKey, StoredEvent } from '../../inbox/event.ts';
import { statesOf } from '../../inbox/rules/operator-acts.ts';
import { discardEvents, getEvent, rerunEvents, type Act, type ActReport, type ActResult } from '../../ops/index.ts';
import { resultInWords } from '../../ops/words/event-words.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { print, printNdjson, styled, tell } from '../shared/output.ts';
import { tellPending } from './bulk-report.ts';
import { byOf } from './by.ts';
import { foundEvent } from './found-event.ts';
import type { ByOptions } from './event-options.ts';
import { idText } from './event-texts.ts';

interface IdsOptions extends ByOptions {
  readonly db: string;
  readonly endpoint?: string;
  readonly json?: boolean;
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

/** What one transaction takes. */
const MOST_AT_ONCE = 500;

/** Acts on events that are named, and prints what became of each. */
export async function actOnIds(
  inbox: Inbox,
  act: Act,
  ids: readonly string[],
  options: IdsOptions,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { json = false, dryRun = false } = options;
  const keys: EventKey[] = [];
  for (const id of new Set(ids)) {
    const found = await foundEvent(inbox, id, options);
    if (found !== null) keys.push({ endpoint: found.endpoint, id });
  }

  let done = 0;
  let left = 0;
  for (let at = 0; at < keys.length && !signal.aborted; at += MOST_AT_ONCE) {
    const some = keys.slice(at, at + MOST_AT_ONCE);
    const results = dryRun ? await foreseen(inbox, act, some, options) : await acted(inbox, act, some, options);
    for (const { key, result } of results) {
      if (json) printNdjson({ ...key, result });
      else print(`${styled(result === 'done' ? 'green' : 'yellow', worded(act, result, dryRun))}  ${idText(key)}`);
      if (result === 'done') done += 1;
      if (result === 'not needed') left += 1;
    }
    await nextTurn(); // or Ctrl-C would never be heard
  }
  if (act === 'rerun' && !dryRun) tellPending(done);
  if (act === 'rerun' && left > 0 && options.force !== true) tell('Add --force to rerun processed events, too.');
  if (signal.aborted) return EXIT.interrupted;
  if (keys.length === 0) return EXIT.notFound;
  if (done === 0) return EXIT.failed;
  return done === new Set(ids).size ? EXIT.ok : EXIT.partial;
}

function worded(act: Act, result: ActResult, dryRun: boolean): string {
  return dryRun && result === 'done' ? `would be ${resultInWords(act, result)}` : resultInWords(act, result);
}

async function acted(
  inbox: Inbox,
  act: Act,
  keys: readonly EventKey[],
  options: IdsOptions,
): Promise<ActReport['results']> {
  const by = byOf(options);
  try {
    const report =
      act === 'rerun'
        ? await rerunEvents(inbox, keys, by, { force: options.force ?? false })
        : await discardEvents(inbox, keys, by);
    return report.results;
  } catch (failure) {
    // Their bodies may be too much for one transaction. Nothing has happened then.
    if (keys.length === 1 || !(failure instanceof ConfigurationError)) throw failure;
    const half = Math.ceil(keys.length / 2);
    return [
      ...(await acted(inbox, act, keys.slice(0, half), options)),
      ...(await acted(inbox, act, keys.slice(half), options)),
    ];
  }
}

/** What would become of events. */
async function foreseen(
  inbox: Inbox,
  act: Act,
  keys: readonly EventKey[],
  { force = false }: IdsOptions,
): Promise<ActReport['results']> {
  const results = [];
  for (const key of keys) {
    const history = await getEvent(inbox, key);
    const result: ActResult = history === null ? 'unknown' : resultFor(act, history.event, force);
    results.push({ key, result });
  }
  return results;
}

/** As `rerunEvents` and `discardEvents` decide; a test holds them to it. */
function resultFor(act: Act, { state, deadReason, body }: StoredEvent, force: boolean): ActResult {
  if (!statesOf(act, force).includes(state)) return 'not needed';
  if (act === 'discard' && deadReason !== 'invalid') return 'done';
  if (body === null) return 'pruned';
  return readEvent(body).parsed.ok ? 'done' : 'still invalid';
}
