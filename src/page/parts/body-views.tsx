import { jsonText } from '../../events/json.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import { bodyDiff, type BodyDiff, differenceInWords } from '../../ops/body/body-diff.ts';
import { jsonTree, type JsonNode, prettyJson } from '../../ops/body/readable-body.ts';
import { bytes, number, bytes as size } from '../../ops/words/format.ts';
import { oneLine, printableJson, printableLines } from '../../printable.ts';
import type { Visit } from '../visit.ts';
import { ListTable } from './list-table.tsx';
import { StoredText } from './stored-text.tsx';

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
          <BodyPanel
            title={conflict === null ? null : 'Stored body'}
            body={visit.mask(body)}
            view={view}
            href={href}
            download={`${href}/raw`}
          />
        )}
        {conflict !== null && conflict.body.byteLength > 0 && (
          <BodyPanel
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

function BodyPanel({
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

/** Texts beyond this are cut here; the raw text has all of them. */
const MAX_TEXT = 2_000;
const MAX_NAME = 200;
/** Objects and lists that are further in are closed at first. */
const OPEN_DEPTH = 4;
/** …and so are those with more in them than one looks through at a glance. */
const OPEN_SIZE = 40;

/** A body as a tree that can be read and folded; numbers stand there as the service has written them. */
export function BodyTree({ body, rawHref }: { readonly body: Uint8Array; readonly rawHref: string }) {
  const text = jsonText(body);
  if (text === null) return <NoJson rawHref={rawHref} />;
  const { root, leftOut } = jsonTree(text);
  return (
    <>
      <div class="tree">
        <Value node={root} depth={0} />
      </div>
      {leftOut && (
        <p class="notice">
          Some values are omitted because the body has too many, or nests them too deeply.{' '}
          <a href={rawHref}>Show raw</a>
        </p>
      )}
    </>
  );
}

/** So long a text is looked through at once. */
const MOST_CHARACTERS = 256 * 1024;

/** A body as JSON to copy, with one value a line. Only the white space differs from the service's text. */
function BodyJson({ body, rawHref }: { readonly body: Uint8Array; readonly rawHref: string }) {
  if (body.byteLength > MOST_CHARACTERS) {
    return (
      <p class="notice">
        The body is too large for this view. <a href={rawHref}>Show raw</a>
      </p>
    );
  }
  const text = jsonText(body);
  if (text === null) return <NoJson rawHref={rawHref} />;
  const lines = printableJson(prettyJson(text));
  return (
    <>
      {lines.length > MOST_CHARACTERS && (
        <p class="notice">Only the first lines are shown. The raw view shows the rest.</p>
      )}
      <pre class="raw" tabindex={0} aria-label="The body as JSON, one value per line">
        {lines.slice(0, MOST_CHARACTERS)}
      </pre>
    </>
  );
}

function NoJson({ rawHref }: { readonly rawHref: string }) {
  return (
    <p class="warning">
      The body is not valid JSON in UTF-8. <a href={rawHref}>Show raw</a>
    </p>
  );
}

function Value({ node, depth }: { readonly node: JsonNode; readonly depth: number }) {
  if (node.kind !== 'object' && node.kind !== 'list') {
    return (
      <div class="leaf">
        <Name node={node} />
        <Scalar node={node} />
      </div>
    );
  }
  const isObject = node.kind === 'object';
  const missing = node.size - node.children.length;
  const size = `${number(node.size)}${node.cut ? ' or more' : ''}`;
  return (
    <details open={depth < OPEN_DEPTH && node.size <= OPEN_SIZE}>
      <summary>
        <Name node={node} />
        <span class="muted">{isObject ? `{${size}}` : `[${size}]`}</span>
      </summary>
      <ol class={isObject ? 'object' : 'places'} start={isObject ? undefined : 0}>
        {node.children.map((child) => (
          <li>
            <Value node={child} depth={depth + 1} />
          </li>
        ))}
        {node.cut ? <li class="muted">…</li> : missing > 0 && <li class="muted">… {number(missing)} more</li>}
      </ol>
    </details>
  );
}

function Name({ node: { name, again } }: { readonly node: JsonNode }) {
  if (name === null) return <></>;
  return (
    <>
      <span class="name">
        <bdi>{oneLine(name, MAX_NAME)}</bdi>:
      </span>{' '}
      {again && <strong class="again">again: </strong>}
    </>
  );
}

function Scalar({ node: { kind, value } }: { readonly node: JsonNode }) {
  if (kind !== 'text') return <span class={`value ${kind}`}>{oneLine(value, MAX_TEXT)}</span>;
  return (
    <>
      <span class="value text">
        {/* As in JSON, so that a copy of it is one. */}
        <bdi>{printableJson(JSON.stringify(value.slice(0, MAX_TEXT)))}</bdi>
      </span>
      {value.length > MAX_TEXT && <span class="muted">… ({number(value.length)} characters)</span>}
    </>
  );
}

const MAX_TEXT_BYTES = 256 * 1024;
const MAX_HEX_BYTES = 64 * 1024;
const HEX_LINE = 16;

/** A body as text. Characters that are not seen, or that turn others round, stand there by their number. */
export function RawText({ body }: { readonly body: Uint8Array }) {
  const text = Buffer.from(body.subarray(0, MAX_TEXT_BYTES)).toString('utf8');
  return (
    <>
      <Cut shown={MAX_TEXT_BYTES} of={body.byteLength} />
      {/* a pre is read by keyboard, so it can be scrolled to */}
      <pre class="raw" tabindex={0} aria-label="The body as text">
        {printableLines(text)}
      </pre>
    </>
  );
}

/** A body as bytes in hexadecimal, sixteen a line, with what is printable beside them. */
function Hex({ body }: { readonly body: Uint8Array }) {
  return (
    <>
      <Cut shown={MAX_HEX_BYTES} of={body.byteLength} />
      <pre class="raw hex" tabindex={0} aria-label="The body in hexadecimal">
        {hexLines(body.subarray(0, MAX_HEX_BYTES)).join('\n')}
      </pre>
    </>
  );
}

function Cut({ shown, of }: { readonly shown: number; readonly of: number }) {
  if (of <= shown) return <></>;
  return (
    <p class="notice">
      The first {size(shown)} of {number(of)} bytes are shown. Download the body to see the rest.
    </p>
  );
}

/** `00000010  7b 22 69 64 …  |{"id…|` */
function hexLines(body: Uint8Array): readonly string[] {
  const lines: string[] = [];
  for (let at = 0; at < body.byteLength; at += HEX_LINE) {
    const line = body.subarray(at, at + HEX_LINE);
    const digits = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const printable = Array.from(line, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join(
      '',
    );
    lines.push(`${at.toString(16).padStart(8, '0')}  ${digits.padEnd(HEX_LINE * 3 - 1)}  |${printable}|`);
  }
  return lines;
}

/** What the newest other body says otherwise. */
function WhatDiffers({ diff }: { readonly diff: BodyDiff }) {
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
                <DiffValue text={was} />
              </td>
              <td data-label="other body">
                <DiffValue text={is} />
              </td>
            </tr>
          ))}
        </ListTable>
      )}
    </section>
  );
}

function DiffValue({ text }: { readonly text: string | null }) {
  if (text === null) return <span class="muted">absent</span>;
  return <StoredText text={text} atMost={201} />;
}
