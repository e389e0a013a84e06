import { timestamp } from '../../ops/words/format.ts';
import { Icon } from '../../page/parts/icon.tsx';
import { activeFaults } from './fault-words.ts';
import type { SandboxVisit } from './parts.tsx';

/** More would take the room of the screen. */
const MOST_CHIPS = 4;

/** The top of every screen: the clock, the active faults, and what operators send. */
export function barOf(visit: SandboxVisit) {
  const { sandbox, base, now } = visit;
  return (
    <>
      <a class="clock" href={`${base}/clock`}>
        <Icon name="clock" />
        <time datetime={now.toISOString()}>{timestamp(now)}</time>
        <span class="muted">{sandbox.clock.kind}</span>
      </a>
      {faultChips(visit)}
      {visit.visitor.role === 'operator' && (
        <div class="by-hand">
          <a class="button" href={`${base}/place-order`}>
            <Icon name="orders" />
            Place an order
          </a>
          <a class="button" href={`${base}/send-event`}>
            <Icon name="deliveries" />
            Send an event
          </a>
        </div>
      )}
    </>
  );
}

function faultChips({ sandbox, base }: SandboxVisit) {
  const faults = activeFaults(sandbox);
  if (faults.length === 0) return <></>;
  const left = faults.length - MOST_CHIPS;
  return (
    <ul class="chips" id="active-faults" aria-label="Active faults">
      {faults.slice(0, MOST_CHIPS).map(({ rowId, title, where, detail, timesLeft }) => (
        <li id={`chip-${rowId}`}>
          <a class="chip" href={`${base}/faults`} title={[title, where, detail].filter(Boolean).join(', ')}>
            <Icon name="faults" />
            {title} <span class="count">× {timesLeft}</span>
          </a>
        </li>
      ))}
      {left > 0 && (
        <li id="more-faults">
          <a class="chip" href={`${base}/faults`}>
            {left} more
          </a>
        </li>
      )}
    </ul>
  );
}
