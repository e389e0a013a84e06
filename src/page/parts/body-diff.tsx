import type { BodyDiff } from '../../ops/body/body-diff.ts';
import { differenceInWords } from '../../ops/words/diff-words.ts';
import { StoredText } from './stored-text.tsx';
import { ListTable } from './list-table.tsx';

/** What the newest other body says otherwise. */
export function WhatDiffers({ diff }: { readonly diff: BodyDiff }) {
  return (
    <section class="panel" id="diff">
      <h3>Differences</h3>
      <p>{differenceInWords(diff)}</p>
      {diff.kind === 'changes' && (
        <ListTable columns={['where', 'stored body', 'other body']}>
          {diff.changes.map(({ path, was, is }) => (
            <tr>
              <th scope="row">
                <StoredText text={path} atMost={200} />
              </th>
              <td data-label="stored body">
                <Value text={was} />
              </td>
              <td data-label="other body">
                <Value text={is} />
              </td>
            </tr>
          ))}
        </ListTable>
      )}
    </section>
  );
}

function Value({ text }: { readonly text: string | null }) {
  if (text === null) return <span class="muted">absent</span>;
  return <StoredText text={text} atMost={201} />;
}
