import type { Delivery } from '../../delivery-list.ts';
import type { SandboxVisit } from '../sandbox-visit.ts';
import { SandboxForm } from './sandbox-form.tsx';

/** For a dead letter, and for what has failed and waits. */
export function RetryButton({ visit, delivery }: { readonly visit: SandboxVisit; readonly delivery: Delivery }) {
  const { id, state, tries, event } = delivery;
  if (state !== 'dead' && !(state === 'waiting' && tries > 0)) return <></>;
  return (
    <div id={`retry-${id}`}>
      <SandboxForm visit={visit} to={`/deliveries/${id}/retry`} label={`Retry delivery ${id}`}>
        <button
          type="submit"
          aria-label={`Retry ${event.type}${event.about === null ? '' : ` of ${event.about}`}, delivery ${id}`}
        >
          Retry
        </button>
      </SandboxForm>
    </div>
  );
}
