import { ConfigurationError } from '../../errors.ts';
import { replayEvent } from '../../ops/replay.ts';
import { printableLines } from '../../printable.ts';
import { eventHref } from '../parts/filter-fields.ts';
import { Facts, Notice } from '../parts/list-table.tsx';
import { StoredText } from '../parts/text.tsx';
import { byOf, fieldOf, postedForm } from '../safety/posted-form.ts';
import { keyOf, type Shell } from '../shell.tsx';
import { number } from '../../ops/words/format.ts';

const MAX_FORM_BYTES = 16 * 1024;

export function replayRoute(shell: Shell): void {
  const { inbox } = shell.operated;
  const { page, replay } = shell;
  if (replay === undefined) return;
  page.post('/events/:endpoint/:id/replay', postedForm(shell, MAX_FORM_BYTES), async (c) => {
    const key = keyOf(c);
    const { base } = shell.visitOf(c);
    let to = fieldOf(c.get('form'), 'to');
    if (/^[\w.-]+:\d+/.test(to)) to = `http://${to}`;
    const report = await replayEvent(inbox, key, byOf(shell, c), { ...replay, to }).catch((failure: unknown) => {
      if (failure instanceof ConfigurationError) return failure;
      throw failure;
    });
    if (report === null) return shell.goTo(c, eventHref('', key), 'pruned');
    if (report instanceof ConfigurationError) {
      return shell.problem(c, 400, 'Cannot replay', `${report.message} Nothing was sent.`);
    }
    const { ok, problem, status, ms, body } = report;
    return shell.show(c, {
      title: 'Replay',
      current: '/events',
      content: (
        <section class="panel" id="replayed">
          <p>
            <span class={`state state-${ok ? 'processed' : 'dead'}`}>{ok ? 'accepted' : 'not accepted'}</span>
          </p>
          <Facts
            facts={[
              [
                'event',
                <a href={eventHref(base, key)}>
                  <StoredText text={key.id} atMost={255} />
                </a>,
              ],
              ['sent to', <StoredText text={to} atMost={500} />],
              ['response', <StoredText text={problem ?? String(status)} atMost={500} />],
              ['took', `${number(ms)} ms`],
            ]}
          />
          {body === '' ? (
            <Notice>The response had no body.</Notice>
          ) : (
            <pre tabindex={0} aria-label="Body of the response">
              {printableLines(body)}
            </pre>
          )}
          <p class="muted">The event in the inbox did not change.</p>
        </section>
      ),
    });
  });
}
