import type { NamedInbox } from '../host/shell-words.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { Mask } from '../ops/body/mask.ts';
import { operationsOf } from '../ops/operations-of.ts';
import type { ReplayOptions } from '../ops/replay.ts';
import { type FlashCode, withFlash } from './acts/flash.ts';
import type { Frame, PageContext } from './frame.tsx';
import type { Look } from './layout.tsx';
import { fromPathPart } from './parts/filter-fields.ts';
import type { Operated, Visit } from './visit.ts';

type ReplaySettings = Pick<ReplayOptions, 'secret' | 'allow'>;

export interface Shell extends Frame {
  readonly operated: Operated;
  readonly mask: Mask;
  readonly replay: ReplaySettings | undefined;
  readonly visitOf: (c: PageContext) => Visit;
  readonly goTo: (c: PageContext, path: string, code: FlashCode, ...figures: readonly number[]) => Response;
}

export function createShell(
  frame: Frame,
  operated: Operated,
  mask: Mask,
  named: NamedInbox,
  replaying?: ReplaySettings,
): Shell {
  // Otherwise a replay would send the values that the page masks.
  const replay = mask.masks ? undefined : replaying;
  return {
    ...frame,
    operated,
    mask,
    replay,
    visitOf: (c) => ({
      ...frame.visitOf(c),
      operated: { ...operated, inbox: abortableInbox(operated.inbox, c.req.raw.signal) },
      lasting: operated.inbox,
      now: new Date(),
      ...mask,
      replays: replay !== undefined,
      liveOnly: c.req.header('hookbox-live') !== undefined,
      named,
    }),
    goTo: (c, path, ...said) => c.redirect(withFlash(`${frame.visitOf(c).base}${path}`, ...said), 303),
  };
}

const KEYS: ReturnType<Look['keys']> = [
  ['/', 'go to the search box'],
  ['j', 'next row'],
  ['k', 'previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['c', 'copy the id in the row, or the value in a body'],
  ['↑ ↓', 'next or previous row in a body'],
  ['← →', 'fold or unfold the row in a body'],
  ['r', 'rerun the selected events, this event, or the group in the row (asks first)'],
  ['d', 'discard the selected events, this event, or the group in the row (asks first)'],
  ['?', 'show this list'],
  ['Ctrl+Enter', 'confirm, also where Enter alone does not, such as a discard'],
  ['Esc', 'close the dialog, or leave the field'],
];
const KEYS_OF_OPERATORS = new Set(['x', 'r', 'd', 'Ctrl+Enter']);

export const OPERATORS_LOOK: Look = {
  navigation: [
    ['/', 'Overview', 'overview'],
    ['/events', 'Events', 'events'],
    ['/dead', 'Dead events', 'dead'],
    ['/rejected', 'Rejected', 'rejected'],
    ['/bulks', 'Bulk actions', 'bulks'],
    ['/paused', 'Paused types', 'pauses'],
    ['/audit', 'Audit', 'audit'],
    ['/health', 'Health', 'health'],
    ['/maintenance', 'Maintenance', 'maintenance'],
  ],
  keys: (role) => KEYS.filter(([key]) => role === 'operator' || !KEYS_OF_OPERATORS.has(key)),
  styles: ['page.css'],
  search: { path: '/events', hint: 'Order, event, merchant, error, or state:dead' },
  footing: (role) =>
    role === 'operator' ? 'an operator; the audit records what you do.' : 'a viewer; you can only read.',
};

/** After the signal, no call starts, and long calls end. */
export function abortableInbox(inbox: AnyInbox, signal: AbortSignal): AnyInbox {
  const operations = operationsOf(inbox);
  const abortable = untilAborted(operations, signal, {
    search: (filter, page) => operations.search(filter, { ...page, signal }),
    countFound: (filter, request) => operations.countFound(filter, { ...request, signal }),
    deadGroups: (request) => operations.deadGroups({ ...request, signal }),
    totalsIn: (spans) => operations.totalsIn(spans, { signal }),
  });
  return untilAborted(inbox, signal, { operations: abortable });
}

/** Calls after the signal reject; if they threw, a caller of several at once would abandon the others. */
function untilAborted<T extends object>(target: T, signal: AbortSignal, instead: Partial<T>): T {
  // The proxy of a frozen object could not replace its properties.
  return new Proxy(Object.create(target) as T, {
    get(_, name) {
      const value: unknown = Reflect.get(Object.hasOwn(instead, name) ? instead : target, name);
      if (typeof value !== 'function') return value;
      return (...given: readonly unknown[]): unknown =>
        signal.aborted ? Promise.reject(signal.reason as Error) : Reflect.apply(value, target, given);
    },
  });
}

export function keyOf(c: PageContext): EventKey {
  return { endpoint: fromPathPart(c.req.param('endpoint') ?? ''), id: fromPathPart(c.req.param('id') ?? '') };
}
