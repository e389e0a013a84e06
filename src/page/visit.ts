import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { EntityOf } from '../events/entity.ts';
import type { NamedInbox } from '../host/shell-words.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { EventFilter } from '../inbox/operator/search.ts';
import type { Mask } from '../ops/body/mask.ts';

/** The inbox that the page shows: a receiver, or `{ inbox }`. */
export interface Operated {
  readonly inbox: AnyInbox;
  /** The `entity` option of your receiver. A rerun uses this function to name the entities of invalid events. */
  readonly entity?: EntityOf;
  /** The `closing` signal of the receiver. When this signal is aborted, open pages stop updating. */
  readonly closing?: AbortSignal;
}

/** A visitor to the page. A `viewer` can only read; an `operator` can also change events. */
export interface Visitor {
  readonly role: 'viewer' | 'operator';
  /** The name that the audit records. */
  readonly name: string;
}

export interface Visit {
  readonly operated: Operated;
  /** for work that continues without the visitor, and for results that are kept between visits */
  readonly lasting: AnyInbox;
  readonly visitor: Visitor;
  readonly base: string;
  readonly csrf: string;
  readonly url: URL;
  readonly now: Date;
  readonly mask: (body: Uint8Array) => Uint8Array;
  readonly maskLog: Mask['maskLog'];
  readonly masks: boolean;
  readonly narrowed: Mask['narrowed'];
  /** whether the page can replay events */
  readonly replays: boolean;
  /** why a filter would reveal a masked value; `null` if it would not */
  readonly refusal: (filter: EventFilter) => string | null;
  /** whether the script updates a page, and needs only `#live` */
  readonly liveOnly: boolean;
  readonly named: NamedInbox;
}

// Not the Child of hono/jsx: its types need those of the DOM, which a project on Node does not have.
type Markup = string | HtmlEscapedString | Promise<HtmlEscapedString>;

export interface Screen {
  readonly title: string;
  /** in place of the title */
  readonly heading?: Markup;
  /** tabs are narrow, so the subject comes first */
  readonly tab?: string;
  /** the text in the search box */
  readonly sought?: string;
  readonly status?: ContentfulStatusCode;
  readonly current: string;
  /** in the bar at the top */
  readonly bar?: Markup;
  readonly content: HtmlEscapedString | Promise<HtmlEscapedString>;
}
