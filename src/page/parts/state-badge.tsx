import type { EventSummary } from '../../inbox/operator/search.ts';
import { stateText } from '../../ops/words/event-words.ts';

/** The state of an event as a badge, with what else there is to say of it in a word. */
export function State({
  summary,
}: {
  readonly summary: Pick<EventSummary, 'state' | 'deadReason' | 'failures' | 'pruned'>;
}) {
  return <span class={`state state-${summary.state}`}>{stateText(summary)}</span>;
}
