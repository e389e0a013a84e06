import type { Child } from 'hono/jsx';
import { jsonText } from '../../events/json.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import { bodyDiff, type BodyDiff, differenceInWords } from '../../ops/body/body-diff.ts';
import { jsonTree, type JsonNode, prettyJson } from '../../ops/body/readable-body.ts';
import { number, bytes as size } from '../../ops/words/format.ts';
import { oneLine, printableJson, printableLines } from '../../printable.ts';
import type { Visit } from '../visit.ts';
import { LinkRow } from './list-query.tsx';
import { DataTable } from './list-table.tsx';
import { StoredText } from './text.tsx';

const VIEWS = { tree: 'Tree', json: 'JSON', raw: 'Raw', hex: 'Hex' } as const;
type View = keyof typeof VIEWS;

export function eventBody(visit: Visit, { body, conflict }: StoredEvent, href: string) {
  if (body === null && conflict === null) return <></>;
  const chosen = visit.url.searchParams.get('view') ?? '';
  const view = Object.hasOwn(VIEWS, chosen) ? (chosen as View) : 'tree';
  const links = Object.entries(VIEWS).map(
    ([name, label]) => [`${href}?view=${name}#body`, label, name === view] as const,
  );
  const other = conflict !== null && conflict.body.byteLength > 0 ? conflict.body : null;
  return (
    <section id="body">
      <div class="heading">
        <h2>Body</h2>
        {view === 'tree' && (
          <button type="button" class="plain held" data-fold hidden>
            Fold all
          </button>
        )}
        <LinkRow kind="views" label="Body views" links={links} />
      </div>
      {visit.masks && (
        <p class="notice">
          In all views and downloads, masked values appear as “•••”, so the body is not exactly the one received.
        </p>
      )}
      {body !== null && other !== null && differences(bodyDiff(body, other, visit.mask))}
      <div class={conflict === null ? undefined : 'columns'}>
        {body !== null &&
          bodyPanel(conflict === null ? null : 'Stored body', visit.mask(body), view, href, `${href}/raw`)}
        {other !== null &&
          bodyPanel('Newest different body with this id (conflict)', visit.mask(other), view, href, `${href}/conflict`)}
      </div>
    </section>
  );
}

function bodyPanel(title: string | null, body: Uint8Array, view: View, href: string, download: string) {
  const rawHref = `${href}?view=raw#body`;
  return (
    <section class="panel body">
      {title !== null && <h3>{title}</h3>}
      {view === 'tree' && <BodyTree body={body} rawHref={rawHref} />}
      {view === 'json' && jsonLines(body, rawHref)}
      {view === 'raw' && <RawText body={body} />}
      {view === 'hex' && hex(body)}
      <p>
        <a href={download} download>
          Download
        </a>{' '}
        <span class="muted">({size(body.byteLength)})</span>
      </p>
    </section>
  );
}

/** The tree cuts longer texts; the raw view shows them in full. */
const MAX_TEXT = 2_000;
const MAX_NAME = 200;
const OPEN_DEPTH = 4;
const OPEN_SIZE = 40;

export function BodyTree({ body, rawHref }: { readonly body: Uint8Array; readonly rawHref: string }) {
  const text = jsonText(body);
  if (text === null) return noJson(rawHref);
  const { root, leftOut } = jsonTree(text);
  return (
    <>
      <div class="tree">{treeOf(root, 0)}</div>
      {leftOut && (
        <p class="notice">
          Some values are omitted because the body has too many, or nests them too deeply.{' '}
          <a href={rawHref}>Show raw</a>
        </p>
      )}
    </>
  );
}

function noJson(rawHref: string) {
  return (
    <p class="warning">
      The body is not valid JSON in UTF-8. <a href={rawHref}>Show raw</a>
    </p>
  );
}

function treeOf(node: JsonNode, depth: number): Child {
  if (node.kind !== 'object' && node.kind !== 'list') {
    return (
      <div class="leaf">
        {nameOf(node)}
        {scalarOf(node)}
      </div>
    );
  }
  const isObject = node.kind === 'object';
  const missing = node.size - node.children.length;
  const count = `${number(node.size)}${node.cut ? ' or more' : ''}`;
  return (
    <details open={depth < OPEN_DEPTH && node.size <= OPEN_SIZE}>
      <summary>
        {nameOf(node)}
        <span class="muted">{isObject ? `{${count}}` : `[${count}]`}</span>
      </summary>
      <ol class={isObject ? 'object' : 'places'} start={isObject ? undefined : 0}>
        {node.children.map((child) => (
          <li>{treeOf(child, depth + 1)}</li>
        ))}
        {node.cut ? <li class="muted">…</li> : missing > 0 && <li class="muted">… {number(missing)} more</li>}
      </ol>
    </details>
  );
}

function nameOf({ name, again }: JsonNode) {
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

function scalarOf({ kind, value }: JsonNode) {
  if (kind !== 'text') return <span class={`value ${kind}`}>{oneLine(value, MAX_TEXT)}</span>;
  return (
    <>
      <span class="value text">
        {/* As in JSON, for copying. */}
        <bdi>{printableJson(JSON.stringify(value.slice(0, MAX_TEXT)))}</bdi>
      </span>
      {value.length > MAX_TEXT && <span class="muted">… ({number(value.length)} characters)</span>}
    </>
  );
}

const MAX_TEXT_BYTES = 256 * 1024;

function jsonLines(body: Uint8Array, rawHref: string) {
  if (body.byteLength > MAX_TEXT_BYTES) {
    return (
      <p class="notice">
        The body is too large for this view. <a href={rawHref}>Show raw</a>
      </p>
    );
  }
  const text = jsonText(body);
  if (text === null) return noJson(rawHref);
  const lines = printableJson(prettyJson(text));
  return (
    <>
      {lines.length > MAX_TEXT_BYTES && (
        <p class="notice">Only the first lines are shown. The raw view shows the rest.</p>
      )}
      <pre class="raw" tabindex={0} aria-label="The body as JSON, one value per line">
        {lines.slice(0, MAX_TEXT_BYTES)}
      </pre>
    </>
  );
}

export function RawText({ body }: { readonly body: Uint8Array }) {
  return (
    <>
      {cut(MAX_TEXT_BYTES, body)}
      {/* With a tab index, keys can scroll it. */}
      <pre class="raw" tabindex={0} aria-label="The body as text">
        {printableLines(Buffer.from(body.subarray(0, MAX_TEXT_BYTES)).toString('utf8'))}
      </pre>
    </>
  );
}

const MAX_HEX_BYTES = 64 * 1024;
const HEX_LINE = 16;

function hex(body: Uint8Array) {
  return (
    <>
      {cut(MAX_HEX_BYTES, body)}
      <pre class="raw hex" tabindex={0} aria-label="The body in hexadecimal">
        {hexLines(body.subarray(0, MAX_HEX_BYTES)).join('\n')}
      </pre>
    </>
  );
}

function hexLines(body: Uint8Array): readonly string[] {
  const lines: string[] = [];
  for (let at = 0; at < body.byteLength; at += HEX_LINE) {
    const line = [...body.subarray(at, at + HEX_LINE)];
    const digits = line.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const printable = line.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${digits.padEnd(HEX_LINE * 3 - 1)}  |${printable}|`);
  }
  return lines;
}

function cut(shown: number, { byteLength }: Uint8Array) {
  if (byteLength <= shown) return <></>;
  return (
    <p class="notice">
      The first {size(shown)} of {number(byteLength)} bytes are shown. Download the body to see the rest.
    </p>
  );
}

function differences(diff: BodyDiff) {
  const value = (text: string | null) =>
    text === null ? <span class="muted">absent</span> : <StoredText text={text} atMost={201} />;
  return (
    <section class="panel" id="diff">
      <h3>Differences</h3>
      <p>{differenceInWords(diff)}</p>
      {diff.kind === 'changes' && (
        <DataTable
          rows={diff.changes}
          columns={[
            ['where', ({ path }) => <StoredText text={path} atMost={200} />],
            ['stored body', ({ was }) => value(was)],
            ['other body', ({ is }) => value(is)],
          ]}
        />
      )}
    </section>
  );
}
