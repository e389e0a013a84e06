import { Time } from '../../page/parts/text.tsx';
import type { Screen } from '../../page/visit.ts';
import type { NextDue } from '../due.ts';
import { SandboxForm, sentInto, type SandboxVisit } from './parts.tsx';
import { Notice, DataTable } from '../../page/parts/list-table.tsx';

const STEPS = [
  ['1 min', '1 minute'],
  ['30 min', '30 minutes'],
  ['1 h', '1 hour'],
  ['24 h', '1 day'],
] as const;

const WHAT = {
  order: { name: 'order', folder: 'orders' },
  cart: { name: 'idle cart', folder: null },
  delivery: { name: 'delivery attempt', folder: 'deliveries' },
} as const satisfies Record<NextDue['what'], unknown>;

export function clockScreen(visit: SandboxVisit): Screen {
  const { kind } = visit.sandbox.clock;
  return {
    title: 'Clock',
    current: '/clock',
    content: (
      <>
        <section class="panel" aria-labelledby="move">
          <h2 id="move">Advance the clock</h2>
          <p>
            {kind === 'frozen'
              ? 'The clock is frozen. Nothing happens until you advance it.'
              : 'The clock runs in real time, and you can also advance it.'}{' '}
            Work that becomes due as the clock advances runs at its due time.
          </p>
          <div class="actions">
            <SandboxForm visit={visit} to="/clock/advance" label="Advance the clock by a step">
              <button type="submit" name="by" value="0">
                Run due work now
              </button>
              {STEPS.map(([by, words]) => (
                <button type="submit" name="by" value={by}>
                  + {words}
                </button>
              ))}
            </SandboxForm>
            <SandboxForm visit={visit} to="/clock/advance" label="Advance the clock by another duration">
              <label>
                By{' '}
                <input
                  type="text"
                  name="by"
                  value={sentInto(visit, '/clock/advance')?.('by')[0]}
                  size={12}
                  maxlength={50}
                  placeholder="1h 30m"
                  required
                  autocomplete="off"
                />
              </label>
              <button type="submit">Advance</button>
            </SandboxForm>
          </div>
        </section>
        <div id="live">{nextDue(visit)}</div>
      </>
    ),
  };
}

function nextDue({ sandbox, base, now }: SandboxVisit) {
  const next = sandbox.clock.due();
  if (next.length === 0) return <Notice>Nothing is due.</Notice>;
  return (
    <section id="next-part">
      <h2>Due next</h2>
      <DataTable
        id="next"
        rows={next}
        rowIs={({ what, id }) => ({ id: `due-${what}-${id}` })}
        columns={[
          ['at', ({ at }) => <Time at={at} now={now} />],
          ['what', ({ what }) => WHAT[what].name],
          [
            'which',
            ({ what, id }) => {
              const { folder } = WHAT[what];
              return folder === null ? <code>{id}</code> : <a href={`${base}/${folder}/${id}`}>{id}</a>;
            },
          ],
        ]}
      />
    </section>
  );
}
