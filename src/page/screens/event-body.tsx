import type { StoredEvent } from '../../inbox/event.ts';
import { bodyDiff } from '../../ops/body/body-diff.ts';
import { bytes } from '../../ops/words/format.ts';
import { WhatDiffers } from '../parts/body-diff.tsx';
import { BodyJson, BodyTree } from '../parts/body-tree.tsx';
import { Hex, RawText } from '../parts/raw-body.tsx';
import type { Visit } from '../visit.ts';

const VIEWS = { tree: 'Tree', json: 'JSON', raw: 'Raw', hex: 'Hex' } as const;
type View = keyof typeof VIEWS;

/** An event's body as a tree, JSON in lines, the received text or its bytes; and the newest other body under its id. */
export function EventBody({
  visit,
  event,
  href,
}: {
  readonly visit: Visit;
  readonly event: StoredEvent;
  readonly href: string;
}) {
  const { body, conflict } = event;
  const view = viewOf(visit.url);
  if (body === null && conflict === null) return <></>;
  return (
    <section id="body">
      <div class="heading">
        <h2>Body</h2>
        <nav aria-label="Body views" class="views">
          {Object.entries(VIEWS).map(([name, label]) => (
            <a href={`${href}?view=${name}#body`} aria-current={name === view ? 'true' : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </div>
      {visit.masks && (
        <p class="notice">
          In all views and downloads, masked values appear as “•••”, so the body is not exactly the one received.
        </p>
      )}
      {body !== null && conflict !== null && conflict.body.byteLength > 0 && (
        <WhatDiffers diff={bodyDiff(body, conflict.body, visit.mask)} />
      )}
      <div class={conflict === null ? undefined : 'columns'}>
        {body !== null && (
          <Body
            title={conflict === null ? null : 'Stored body'}
            body={visit.mask(body)}
            view={view}
            href={href}
            download={`${href}/raw`}
          />
        )}
        {conflict !== null && conflict.body.byteLength > 0 && (
          <Body
            title="Newest different body with this id (conflict)"
            body={visit.mask(conflict.body)}
            view={view}
            href={href}
            download={`${href}/conflict`}
          />
        )}
      </div>
    </section>
  );
}

function Body({
  title,
  body,
  view,
  href,
  download,
}: {
  readonly title: string | null;
  readonly body: Uint8Array;
  readonly view: View;
  readonly href: string;
  readonly download: string;
}) {
  return (
    <section class="panel body">
      {title !== null && <h3>{title}</h3>}
      {view === 'tree' && <BodyTree body={body} rawHref={`${href}?view=raw#body`} />}
      {view === 'json' && <BodyJson body={body} rawHref={`${href}?view=raw#body`} />}
      {view === 'raw' && <RawText body={body} />}
      {view === 'hex' && <Hex body={body} />}
      <p>
        <a href={download} download>
          Download
        </a>{' '}
        <span class="muted">({bytes(body.byteLength)})</span>
      </p>
    </section>
  );
}

function viewOf(url: URL): View {
  const asked = url.searchParams.get('view');
  return asked === 'json' || asked === 'raw' || asked === 'hex' ? asked : 'tree';
}
