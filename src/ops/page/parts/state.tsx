import type { EventSummary } from '../../../inbox/operations/search.ts';

/** The state of an event as a badge, with what else there is to say of it in a word. */
export function State({
  summary: { state, deadReason, failures, pruned },
}: {
  readonly summary: Pick<EventSummary, 'state' | 'deadReason' | 'failures' | 'pruned'>;
}) {
  const more = [deadReason, state === 'pending' && failures > 0 ? 'retrying' : null, pruned ? 'pruned' : null];
  const said = more.filter((word) => word !== null);
  return (
    <span class={`state state-${state}`}>
      {state}
      {said.length > 0 && ` (${said.join(', ')})`}
    </span>
  );
}
