import type { Stats } from '../../ops/stats.ts';
import { oneLine } from '../../printable.ts';
import { number, percent, plural } from '../../ops/words/format.ts';
import { Bar, Patterns } from './chart-bar.tsx';
import { across, ChartFigure } from './chart-frame.tsx';
import { ListTable } from '../parts/list-table.tsx';

const ROW_HEIGHT = 34;

/** Of which types events died in the span, the most first. */
export function DeadByTypeChart({ byType }: Pick<Stats, 'byType'>) {
  const rows = Object.entries(byType)
    .map(([type, { dead }]) => ({ type: oneLine(type, 40), dead }))
    .filter(({ dead }) => dead > 0)
    .sort((one, other) => other.dead - one.dead);
  const total = rows.reduce((sum, { dead }) => sum + dead, 0);
  const most = rows[0]?.dead ?? 0;
  if (rows.length === 0) {
    return (
      <section class="panel" id="dead-by-type">
        <h2>Dead by type</h2>
        <p class="muted">No event died in this period.</p>
      </section>
    );
  }
  return (
    <ChartFigure
      id="dead-by-type"
      title="Dead by type"
      description={`${plural(total, 'event')} died: ${rows.map(({ type, dead }) => `${number(dead)} ${type}`).join(', ')}.`}
      height={rows.length * ROW_HEIGHT}
      table={
        <ListTable columns={['type', 'died', 'share']}>
          {rows.map(({ type, dead }) => (
            <tr>
              <th scope="row">{type}</th>
              <td data-label="died">{number(dead)}</td>
              <td data-label="share">{percent(dead / total)}</td>
            </tr>
          ))}
        </ListTable>
      }
    >
      <Patterns id="dead-by-type" />
      {rows.map(({ type, dead }, n) => (
        <g>
          <text x="0" y={n * ROW_HEIGHT + 13}>
            {type}
          </text>
          <text x="100%" y={n * ROW_HEIGHT + 13} text-anchor="end">
            {number(dead)}
          </text>
          <Bar
            chart="dead-by-type"
            outcome="dead"
            x="0"
            width={across(dead, most)}
            y={n * ROW_HEIGHT + 18}
            height={10}
          />
        </g>
      ))}
    </ChartFigure>
  );
}
