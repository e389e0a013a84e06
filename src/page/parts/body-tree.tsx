import { oneLine, printableJson } from '../../printable.ts';
import { number } from '../../ops/words/format.ts';
import { jsonText } from '../../events/json.ts';
import { jsonTree, type JsonNode } from '../../ops/body/json-tree.ts';
import { prettyJson } from '../../ops/body/readable-body.ts';

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
export function BodyJson({ body, rawHref }: { readonly body: Uint8Array; readonly rawHref: string }) {
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
