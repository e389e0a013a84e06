import type { Child } from 'hono/jsx';
import type { Act } from '../../inbox/operator/acts.ts';
import { requestByKey, mayBeDone, summaryAt } from '../../inbox/rules/decide-act.ts';
import type { StoredPause } from '../../inbox/rules/pauses.ts';
import type { EventHistory } from '../../ops/find.ts';
import { oneLine } from '../../printable.ts';
import { eventCommand } from '../../processing/endpoint.ts';
import { ActDialog, AskButton, type AskParts } from '../parts/dialog.tsx';
import { eventHref } from '../parts/filter-fields.ts';
import { Field, ReasonField } from '../parts/form-fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { Copyable } from '../parts/text.tsx';
import type { Visit } from '../visit.ts';

const INVALID = 'hookbox parses the body again with the current schemas. If the body fits, the event becomes';
const INVALID_RERUN =
  `${INVALID} pending, and its handler runs unless a schema of your own rejects the data. If not, the event stays dead ` +
  '(invalid).';
const INVALID_DISCARD = `${INVALID} discarded, and no handler runs. If not, the event stays dead (invalid) until you prune or erase it.`;

interface Offer extends AskParts {
  readonly dialog: Child;
}

export function actsOn(visit: Visit, history: EventHistory, warning: Child) {
  const { summary } = history;
  const isOperator = visit.visitor.role === 'operator';
  const offers = isOperator ? offersOf(visit, history, warning) : [];
  return (
    <>
      <form class="acts" id="acts" method="get" action={eventHref(visit.base, summary)} aria-label="Actions">
        {offers.map((offer) => (
          <AskButton {...offer} />
        ))}
        <CopyMenu visit={visit} history={history} />
        {isOperator && summary.pruned && <p class="muted">The body was pruned, so the event cannot be rerun.</p>}
      </form>
      {offers.map(({ dialog }) => dialog)}
    </>
  );
}

function offersOf(visit: Visit, { summary, event, wait }: EventHistory, warning: Child): readonly Offer[] {
  const { type, endpoint, deadReason } = summary;
  const again = summary.state === 'processed';
  const may = (act: Act, event = summary): boolean => mayBeDone(requestByKey(act, again), event);
  const href = eventHref('', summary);
  const shared = { visit, back: eventHref(visit.base, summary) };
  const hidden = [
    ['state', summary.state],
    ['attempts', String(summary.attempts)],
  ] as const;
  const command = (act: Act): Child => <Copyable text={eventCommand(act, summary, { ...visit.named, force: again })} />;
  const offers: (Offer | false)[] = [
    may('rerun') && {
      id: again ? 'rerun-again' : 'rerun',
      icon: 'rerun',
      label: again ? 'Rerun again' : 'Rerun',
      dialog: (
        <ActDialog
          {...shared}
          id={again ? 'rerun-again' : 'rerun'}
          title={again ? 'Rerun this processed event?' : 'Rerun this event?'}
          to={`${href}/rerun`}
          button={again ? 'Rerun this processed event' : 'Rerun this event'}
          danger={again}
          hidden={again ? [...hidden, ['force', 'yes']] : hidden}
          fields={<ReasonField isRequired={again} />}
          below={command('rerun')}
        >
          <p>
            {again
              ? 'The handler already succeeded and will run again. Make sure that its effects can safely happen twice.'
              : deadReason === 'invalid'
                ? INVALID_RERUN
                : 'The event becomes pending, and its handler runs again. The history is kept.'}
          </p>
          {warning}
        </ActDialog>
      ),
    },
    may('retry-now', summaryAt(summary, visit.now)) && {
      id: 'retry-now',
      icon: 'play',
      label: 'Retry now',
      dialog: (
        <ActDialog
          {...shared}
          id="retry-now"
          title="Retry this event now?"
          to={`${href}/retry-now`}
          button="Retry this event now"
          hidden={hidden}
          fields={<ReasonField />}
          below={command('retry-now')}
        >
          <p>The event becomes due now, but still waits for older events of its entity. Its failures still count.</p>
          {warning}
        </ActDialog>
      ),
    },
    type !== null && {
      ...pausing(visit, { type, endpoint }, wait?.reason === 'paused' ? wait.pause : null, shared.back),
    },
    visit.replays &&
      event.body !== null && {
        id: 'replay',
        icon: 'deliveries',
        label: 'Replay',
        dialog: (
          <ActDialog
            {...shared}
            id="replay"
            title="Replay this event to an address"
            to={`${href}/replay`}
            button="Replay this event"
            fields={
              <>
                <Field
                  label="Address"
                  name="to"
                  type="text"
                  inputmode="url"
                  value="http://localhost:3000/webhooks"
                  maxlength={1_000}
                  autocomplete="off"
                  spellcheck="false"
                  required
                />
                <ReasonField />
              </>
            }
          >
            <p>The server sends the body as a delivery with a new signature. The event in the inbox does not change.</p>
          </ActDialog>
        ),
      },
    may('discard') && {
      id: 'discard',
      icon: 'discard',
      label: 'Discard',
      danger: true,
      dialog: (
        <ActDialog
          {...shared}
          id="discard"
          title="Discard this event?"
          to={`${href}/discard`}
          button="Discard this event"
          danger
          hidden={hidden}
          fields={<ReasonField isRequired />}
          below={command('discard')}
        >
          <p>
            {deadReason === 'invalid'
              ? INVALID_DISCARD
              : 'The event becomes discarded, and no handler runs. You can rerun it later.'}
          </p>
        </ActDialog>
      ),
    },
  ];
  return offers.filter((offer) => offer !== false);
}

function pausing(
  visit: Visit,
  { type, endpoint }: { readonly type: string; readonly endpoint: string },
  pause: StoredPause | null,
  back: string,
): Offer {
  if (pause !== null) {
    const dialog = <ResumeDialog visit={visit} id="resume" pause={pause} back={back} />;
    return { id: 'resume', icon: 'play', label: 'Resume type', dialog };
  }
  return {
    id: 'pause',
    icon: 'pause',
    label: 'Pause type',
    dialog: (
      <ActDialog
        visit={visit}
        back={back}
        id="pause"
        title={
          <>
            Pause <bdi>{oneLine(type, 80)}</bdi>?
          </>
        }
        to="/paused/pause"
        button="Pause this type"
        hidden={Object.entries({ type, endpoint })}
        byButton
        fields={<ReasonField />}
      >
        <p>Events of this type are still stored and answered, but no handler starts until you resume the type.</p>
      </ActDialog>
    ),
  };
}

interface ResumeParts {
  readonly visit: Visit;
  readonly id: string;
  readonly pause: StoredPause;
  readonly back: string;
}

export function ResumeDialog({ visit, id, pause: { type, endpoint, since }, back }: ResumeParts) {
  return (
    <ActDialog
      visit={visit}
      back={back}
      id={id}
      title={
        <>
          Resume <bdi>{oneLine(type, 80)}</bdi>?
        </>
      }
      to="/paused/resume"
      button="Resume this type"
      hidden={Object.entries({ type, endpoint, since: since.toISOString() })}
      byButton
      fields={<ReasonField />}
    >
      <p>Processors handle the waiting events of this type, oldest first.</p>
    </ActDialog>
  );
}

/** With the script, which copies. */
function CopyMenu({ visit, history: { summary, event } }: { readonly visit: Visit; readonly history: EventHistory }) {
  const file = 'body.json';
  const curl = [
    `${eventCommand('show', summary, { ...visit.named, raw: true })} > ${file}`,
    `curl http://localhost:3000/webhooks -H 'Content-Type: application/json' \\`,
    `  -H "X-Signature: $(hookbox sign ${file})" --data-binary @${file}`,
  ].join('\n');
  return (
    <details class="menu held" id="copy" data-copies hidden>
      <summary>
        <Icon name="copy" />
        Copy
        <Icon name="down" />
      </summary>
      <div class="sheet">
        <ul>
          <li>
            <button type="button" data-copy-link>
              Link to this view
            </button>
          </li>
          <li>
            <button type="button" data-copy={summary.id}>
              Event id
            </button>
          </li>
          {event.body !== null && (
            <li>
              <button type="button" data-copy-from={`${eventHref(visit.base, summary)}/raw`}>
                Body
              </button>
            </li>
          )}
          {event.body !== null && (
            <li>
              <button type="button" data-copy={curl}>
                curl commands
              </button>
            </li>
          )}
        </ul>
      </div>
    </details>
  );
}
