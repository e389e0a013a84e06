import type { OrderSummary } from '../../order-list.ts';
import type { SandboxVisit } from '../sandbox-visit.ts';
import { SandboxForm } from './sandbox-form.tsx';
import { MOVE_WORDS } from './words.tsx';

/** The legal moves of an order, and no others. The form says from where, so that one that is out of date moves nothing. */
export function MoveButtons({ visit, order }: { readonly visit: SandboxVisit; readonly order: OrderSummary }) {
  const { id, status, moves } = order;
  if (moves.length === 0) return <></>;
  return (
    <div class="actions" id={`moves-${id}-${status}`}>
      <SandboxForm visit={visit} to={`/orders/${id}/move`} label={`Move order ${id}`}>
        <input type="hidden" name="from" value={status} />
        {moves.map((to, n) => (
          <button
            type="submit"
            name="to"
            value={to}
            class={n === 0 ? 'primary' : undefined}
            aria-label={`${MOVE_WORDS[to]} order ${id}`}
          >
            {MOVE_WORDS[to]}
          </button>
        ))}
      </SandboxForm>
    </div>
  );
}
