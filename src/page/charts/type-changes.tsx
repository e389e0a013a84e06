import { comparisonOf, type Comparison, type TypeChange } from '../../ops/type-changes.ts';
import { failedPart, verdict } from '../../ops/words/change-words.ts';
import { latency, number, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { ListTable } from '../parts/list-table.tsx';

/** Rates of failure and durations of each type beside those of before: whether the deployment broke it is one look. */
export function TypeChanges({
  changes,
  spans,
  isReleaseUnnamed,
}: {
  readonly changes: readonly TypeChange[];
  /** which spans these are, as in `since release 42 began, beside the 3 h before` */
  readonly spans: string;
  readonly isReleaseUnnamed: boolean;
}) {
  return (
    <section class="panel" id="types">
      <h2>By type</h2>
      {changes.length === 0 ? (
        <p class="muted">No handler ran in this period or in the one before it.</p>
      ) : (
        <>
          <p id="verdict">{verdict(changes)}</p>
          <Table changes={changes.slice(0, SHOWN)} caption={`Handler runs ${spans}. Durations are upper bounds.`} />
          {changes.length > SHOWN && (
            <details id="other-types">
              <summary>{plural(changes.length - SHOWN, 'other type')}</summary>
              <Table changes={changes.slice(SHOWN)} caption="The rest" />
            </details>
          )}
        </>
      )}
      {isReleaseUnnamed && (
        <p class="muted" id="no-release">
          To compare releases, set the option <code>release</code> of your receivers and processors, for example to a
          version or a commit hash.
        </p>
      )}
    </section>
  );
}

/** What is worse comes first, so the rest need not be seen at once. */
const SHOWN = 5;

function Table({ changes, caption }: { readonly changes: readonly TypeChange[]; readonly caption: string }) {
  return (
    <ListTable columns={['type', 'runs', 'failed', 'dead', 'median']} caption={caption}>
      {changes.map((change) => (
        <Row change={change} />
      ))}
    </ListTable>
  );
}

function Row({ change }: { readonly change: TypeChange }) {
  const { type, before, after } = change;
  const { failures, durations } = comparisonOf(change);
  return (
    <tr>
      <th scope="row">
        {oneLine(type, 60)
          .split(/(?<=[._])/)
          .map((part, n) => (
            <>
              {n > 0 && <wbr />}
              {part}
            </>
          ))}
      </th>
      <td data-label="runs">{number(after.ended)}</td>
      <td data-label="failed">
        <Figure now={failedPart(after)} before={failedPart(before)} compared={failures} />
      </td>
      <td data-label="dead">{number(after.dead)}</td>
      <td data-label="median">
        <Figure now={latency(after.handlerMs.p50)} before={latency(before.handlerMs.p50)} compared={durations} />
      </td>
    </tr>
  );
}

function Figure({
  now,
  before,
  compared,
}: {
  readonly now: string;
  readonly before: string;
  readonly compared: Comparison;
}) {
  return (
    <>
      {compared === 'worse' ? <strong class="worse">{now} ▲</strong> : now}{' '}
      <span class="muted">{compared === 'too few' ? 'too few runs' : `was ${before}`}</span>
    </>
  );
}
