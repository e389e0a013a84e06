// Live updates, copying, dialogs and keys. Without scripts, everything is readable and all forms work.
import './lists.js';
import './charts.js';

const FRESH_AT_MOST_EVERY_MS = 1000;
/** After a request, the page waits this many times its duration, because deliveries wait during a request. */
const REST = 4;
/** Ages grow even if no event changes, for example if all are stuck. */
const FRESH_AT_LEAST_EVERY_MS = 60_000;
const ASK_AGAIN_MS = 10_000;

const byId = (id) => document.getElementById(id);
const two = (value) => String(value).padStart(2, '0');

// ---- Live: updates #live, and keeps the text, the open parts and the focus of the visitor. ----

const state = byId('live-state');
/** the last message of the server; a repeated message needs no update */
let standing = null;
let source = null;
let timer = 0;
let fetching = false;
let wanted = false;
let nextFetch = -Infinity;

function say(word, what) {
  if (state === null) return;
  state.hidden = false;
  state.dataset.state = what;
  // A screen reader would read an unchanged text again.
  if (state.textContent !== word) state.textContent = word;
}

/** when the page was last up to date */
let freshAt = new Date();

function isLive() {
  freshAt = new Date();
  delete document.documentElement.dataset.lost;
  say('Live', 'live');
}

/** The figures may be out of date, so they turn grey. */
function lose() {
  document.documentElement.dataset.lost = '';
  say(`No connection since ${clockTime(freshAt)}`, 'lost');
}

function clockTime(at) {
  if (document.documentElement.dataset.times === 'local') return `${two(at.getHours())}:${two(at.getMinutes())}`;
  return `${at.toISOString().slice(11, 16)} UTC`;
}

function connect() {
  if (source !== null || document.hidden || byId('live') === null) return;
  source = new EventSource(document.body.dataset.live);
  source.addEventListener('open', () => {
    // The page lacks the changes since the connection was lost.
    if ('lost' in document.documentElement.dataset) want();
    isLive();
  });
  source.addEventListener('changed', (message) => {
    if (message.data === standing) return;
    standing = message.data;
    want();
  });
  source.addEventListener('error', () => {
    lose();
    // The browser reconnects by itself, except after a response such as 503.
    if (source?.readyState !== EventSource.CLOSED) return;
    disconnect();
    setTimeout(connect, ASK_AGAIN_MS);
  });
}

function disconnect() {
  source?.close();
  source = null;
}

/** A browser opens few connections to one host, so hidden tabs close theirs. */
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    disconnect();
    say('Paused', 'paused');
  } else {
    connect();
  }
});

function want() {
  wanted = true;
  if (timer !== 0 || fetching) return;
  timer = setTimeout(refresh, Math.max(0, nextFetch - performance.now()));
}

setInterval(() => {
  if (source !== null) want();
}, FRESH_AT_LEAST_EVERY_MS);

async function refresh() {
  timer = 0;
  if (document.hidden) return;
  if (isSelecting()) {
    say('Paused: text is selected', 'paused');
    return;
  }
  wanted = false;
  fetching = true;
  const began = performance.now();
  let rest = FRESH_AT_MOST_EVERY_MS;
  try {
    const headers = { Accept: 'text/html', 'Hookbox-Live': '1' };
    const answer = await fetch(location.href, { headers, redirect: 'error' });
    if (answer.status === 429) {
      rest = 1000 * Number(answer.headers.get('Retry-After'));
      wanted = true;
    }
    if (!answer.ok && answer.status !== 404) throw new Error(String(answer.status));
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    document.title = next.title;
    const title = document.querySelector('main > h1');
    const nextTitle = next.querySelector('main > h1');
    if (title !== null && nextTitle !== null && !isSelecting()) morph(title, nextTitle);
    const bar = byId('bar');
    const nextBar = next.getElementById('bar');
    if (nextBar !== null) showLocalTimes(nextBar);
    if (bar !== null && nextBar !== null && !isSelecting()) morph(bar, nextBar);
    const from = byId('live');
    const to = next.getElementById('live');
    if (to !== null) showLocalTimes(to);
    if (from !== null && to !== null && !isSelecting()) bring(from, to);
    isLive();
  } catch {
    lose();
  } finally {
    fetching = false;
    const ended = performance.now();
    nextFetch = ended + Math.max(rest, REST * (ended - began));
    if (wanted) want();
  }
}

function isSelecting() {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && selection.toString() !== '';
}

document.addEventListener('selectionchange', () => {
  if (wanted && !isSelecting()) want();
});

/** Updates the page, and keeps the focus, typed text, opened parts and choices. */
function bring(from, to) {
  const focused = document.activeElement;
  // A list updates itself (lists.js), because its rows must not move.
  const brought = new CustomEvent('bring', { cancelable: true, detail: { to, morph } });
  if (from.dispatchEvent(brought)) morph(from, to);
  if (focused !== null && focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
  }
  document.dispatchEvent(new Event('rows'));
}

/** settings of the visitor, not of the server */
const OWN_ATTRIBUTES = new Set([
  'open',
  'value',
  'checked',
  'selected',
  'hidden',
  'data-selected',
  'tabindex',
  'autofocus',
]);

/** Hidden fields follow the shown list. In an open form they stay, so that the form asks for the events that its user saw. */
const isOfServer = (node) =>
  node.localName === 'progress' || (node.type === 'hidden' && node.closest('details[open], dialog[open]') === null);

function morph(from, to) {
  if (from.isEqualNode(to)) return;
  for (const { name } of Array.from(from.attributes)) {
    if (!to.hasAttribute(name) && !OWN_ATTRIBUTES.has(name)) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    const isOwn = OWN_ATTRIBUTES.has(name) && !(name === 'value' && isOfServer(from));
    if (!isOwn && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  const keyed = new Map();
  for (const child of from.children) if (child.id !== '') keyed.set(child.id, child);

  let at = from.firstChild;
  for (const next of Array.from(to.childNodes)) {
    const same = next.id ? keyed.get(next.id) : alike(at, next);
    if (same === undefined || same === null || same.nodeName !== next.nodeName) {
      from.insertBefore(document.importNode(next, true), at);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else from.insertBefore(same, at);
    if (same.nodeType === Node.ELEMENT_NODE) morph(same, next);
    else if (same.nodeValue !== next.nodeValue) same.nodeValue = next.nodeValue;
  }
  while (at !== null) {
    const gone = at;
    at = at.nextSibling;
    // A row that has the focus stays until the focus leaves it; a form of a completed action goes immediately.
    if (!gone.contains(document.activeElement) || gone.dataset.offers !== undefined) gone.remove();
  }
}

/** A node without an id matches a node of the same kind in the same place. */
function alike(at, next) {
  return at !== null && !at.id && at.nodeType === next.nodeType && at.nodeName === next.nodeName ? at : null;
}

// ---- Long requests, and typed text ----

/** A line at the top; the stylesheet shows it after a moment. */
const progress = document.createElement('div');
progress.className = 'busy';
progress.setAttribute('role', 'progressbar');
progress.setAttribute('aria-label', 'Loading');

addEventListener('beforeunload', () => {
  // A download does not leave the page.
  if (document.activeElement?.closest('.export, [download], [data-download]') === null) document.body.append(progress);
});
addEventListener('pageshow', () => progress.remove());

const TYPED = 'input:is([type="text"], [type="url"], [type="number"]), textarea';
const draftOf = (form) =>
  `hookbox ${location.pathname} ${form.getAttribute('action')} ${form.getAttribute('aria-label')}`;

// A failed request must not lose the typed text.
document.addEventListener('submit', ({ target }) => {
  if (target.method !== 'post') return;
  const typed = [...target.querySelectorAll(TYPED)].filter(({ name, value }) => name !== '' && value !== '');
  if (typed.length === 0) return;
  sessionStorage.setItem(draftOf(target), JSON.stringify(typed.map(({ name, value }) => [name, value])));
});

function bringBackTyped() {
  const isDone = new URLSearchParams(location.search).has('done');
  for (const form of document.querySelectorAll('form[method="post"]')) {
    const kept = sessionStorage.getItem(draftOf(form));
    if (kept === null) continue;
    sessionStorage.removeItem(draftOf(form));
    if (isDone) continue;
    for (const [name, value] of JSON.parse(kept)) {
      const field = form.elements.namedItem(name);
      if (field?.matches?.(TYPED) && field.value === '') field.value = value;
    }
    const details = form.closest('details');
    if (details !== null) details.open = true;
  }
}

// ---- Local times, and menus ----

/**
 * In the forms that the server writes in UTC: a whole time, a time of today, or a day and a time.
 *
 * @param beside - today, or the time shown before it: the day is left out if it is the same
 */
function localTime(at, text, beside) {
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (/^\d{4}-/.test(text)) {
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}:${two(at.getSeconds())}`;
  }
  const isSameDay = at.toDateString() === beside.toDateString();
  return isSameDay ? time : `${at.getDate()} ${at.toLocaleString('en-GB', { month: 'short' })} ${time}`;
}

function showLocalTimes(root) {
  if (document.documentElement.dataset.times !== 'local') return;
  for (const time of root.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title ||= `${time.dateTime} (UTC)`;
    const first = time.closest('.when')?.querySelector('time') ?? time;
    time.textContent = localTime(at, time.textContent, first === time ? new Date() : new Date(first.dateTime));
  }
}
showLocalTimes(document);

document.addEventListener('click', (event) => {
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener('keydown', (event) => {
  const menu = event.key === 'Escape' ? event.target.closest?.('details.menu[open]') : null;
  if (!menu) return;
  menu.open = false;
  menu.querySelector('summary').focus();
  event.preventDefault();
});

// ---- Copying ----

function showCopyButtons() {
  for (const button of document.querySelectorAll('[data-copy], [data-copies], [data-fold]')) button.hidden = false;
}
showCopyButtons();
document.addEventListener('rows', showCopyButtons);

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-copy], [data-copy-link], [data-copy-from]');
  if (!button) return;
  // Copies the text of the attribute, the content of an address, or the code beside the button.
  const { copy: given, copyLink, copyFrom } = button.dataset;
  const beside = button.parentElement.querySelector('code, .id');
  void copy(button, async () => {
    if (copyLink !== undefined) return location.href;
    if (copyFrom !== undefined) return (await fetch(copyFrom)).text();
    return given && given !== 'true' ? given : (beside?.textContent ?? '');
  });
});

async function copy(button, textOf) {
  const shown = [...button.childNodes];
  let said = 'Copied';
  try {
    const text = await textOf();
    // Browsers have a clipboard only over HTTPS and on loopback. Elsewhere they copy the selection.
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else if (!copySelected(text)) said = 'Cannot copy';
  } catch {
    said = 'Cannot copy';
  }
  button.replaceChildren(said);
  setTimeout(() => button.replaceChildren(...shown), 2000);
}

function copySelected(text) {
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  return isCopied;
}

// ---- Bodies: arrow keys move between the rows, whose buttons copy a value or its path; another button folds all. ----

const copies = document.createElement('span');
copies.className = 'copies';
for (const [what, textOf] of Object.entries({ value: valueOf, path: pathOf })) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = `Copy ${what}`;
  button.addEventListener('click', (event) => {
    // In a summary, the click would fold it.
    event.preventDefault();
    const row = copies.parentElement;
    void copy(button, async () => textOf(row));
  });
  copies.append(button);
}

function offerCopies(event) {
  const row = event.target.closest?.('.tree .leaf, .tree summary');
  if (!row || row === copies.parentElement) return;
  // A button that is focused by keys stays.
  if (event.type === 'pointerover' && copies.querySelector(':focus-visible') !== null) return;
  const [value, path] = copies.children;
  value.hidden = row.querySelector('.value') === null || row.querySelector('.value + .muted') !== null;
  path.hidden = pathOf(row) === '';
  row.append(copies);
}

/** A body is one stop for Tab; its buttons to copy are the next two. */
function stopAt(row) {
  const tree = row.closest('.tree');
  for (const stop of tree.querySelectorAll('[tabindex="0"]')) stop.tabIndex = -1;
  row.tabIndex = 0;
}
for (const row of document.querySelectorAll('.tree :is(.leaf, summary)')) row.tabIndex = -1;
for (const tree of document.querySelectorAll('.tree')) stopAt(tree.querySelector('.leaf, summary'));

function isUnfolded(row) {
  const part = row.matches('summary') ? row.parentElement.parentElement : row;
  return part.closest('.tree details:not([open])') === null;
}

document.addEventListener('focusin', ({ target }) => {
  if (target.matches?.('.tree :is(.leaf, summary)')) stopAt(target);
});
document.addEventListener(
  'toggle',
  ({ target }) => {
    const tree = target.closest?.('.tree');
    const stop = tree?.querySelector('[tabindex="0"]');
    if (stop && !isUnfolded(stop)) stopAt(tree.querySelector('.leaf, summary'));
  },
  true,
);

/** Returns the row that a key leads to, or `null`. */
function rowAfter(row, key) {
  const rows = [...row.closest('.tree').querySelectorAll('.leaf, summary')].filter(isUnfolded);
  const at = rows.indexOf(row);
  const details = row.matches('summary') ? row.parentElement : null;
  switch (key) {
    case 'ArrowDown':
      return rows[at + 1] ?? row;
    case 'ArrowUp':
      return rows[at - 1] ?? row;
    case 'Home':
      return rows[0];
    case 'End':
      return rows.at(-1);
    case 'ArrowRight':
      if (details === null) return row;
      if (details.open) return rows[at + 1] ?? row;
      details.open = true;
      return row;
    case 'ArrowLeft':
      if (details?.open) {
        details.open = false;
        return row;
      }
      return (details ?? row).closest('li')?.closest('details').querySelector('summary') ?? row;
    default:
      return null;
  }
}

document.addEventListener('keydown', (event) => {
  const row = event.target.closest?.('.tree .leaf, .tree summary');
  if (!row || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.key === 'c') {
    offerCopies(event);
    copies.querySelector('button:not([hidden])')?.click();
  } else {
    const next = rowAfter(row, event.key);
    if (next === null) return;
    next.focus();
  }
  event.preventDefault();
});
document.addEventListener('pointerover', offerCopies);
document.addEventListener('focusin', offerCopies);

function valueOf(row) {
  const value = row.querySelector('.value');
  return value.classList.contains('text') ? JSON.parse(value.textContent) : value.textContent;
}

function pathOf(row) {
  const steps = [];
  for (let item = row.closest('li'); item !== null; item = item.parentElement.closest('li')) {
    const name = item.querySelector(':scope > .leaf > .name bdi, :scope > details > summary > .name bdi');
    steps.unshift(name === null ? `[${[...item.parentElement.children].indexOf(item)}]` : `.${name.textContent}`);
  }
  return steps.join('').replace(/^\./, '');
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-fold]');
  if (!button) return;
  const folds = button.textContent.startsWith('Fold');
  for (const part of document.querySelectorAll('.tree li details')) part.open = !folds;
  button.textContent = folds ? 'Unfold all' : 'Fold all';
});

// ---- Dialogs: a button opens a dialog, and the dialog confirms the action. ----

document.addEventListener('click', (event) => {
  const close = event.target.closest?.('dialog [data-close]');
  const button = event.target.closest?.('button[name="ask"]');
  const dialog = close ? close.closest('dialog') : button ? byId(button.value) : null;
  if (dialog === null) return;
  event.preventDefault();
  if (close) dialog.close();
  else openDialog(dialog, event.detail !== 0);
});

/** A click focuses the first field. A key focuses Cancel, so that a second press of the key does nothing. */
function openDialog(dialog, toField) {
  if (!dialog.matches(':modal')) {
    dialog.open = false;
    dialog.showModal();
  }
  const first = dialog.querySelector(toField ? 'input[type="text"]' : '[data-close]');
  first.focus();
  // Typing replaces the suggested text.
  if (toField) first.select();
}

// ---- Keys, and links to an action ----

const keys = byId('keys');
const showKeys = byId('show-keys');

function openKeys() {
  if (keys !== null && !keys.open) keys.showModal();
}

if (showKeys !== null) {
  showKeys.hidden = false;
  showKeys.addEventListener('click', openKeys);
}
byId('close-keys')?.addEventListener('click', () => keys.close());

const rows = () =>
  [...document.querySelectorAll('main table.list tr[data-href]')].filter((row) => row.offsetParent !== null);
const selectedRow = () => document.querySelector('tr[data-selected]');

function select(row) {
  for (const other of document.querySelectorAll('tr[data-selected]')) other.removeAttribute('data-selected');
  row.setAttribute('data-selected', '');
  // A screen reader reads the link of the row; a row without a link gets the focus itself.
  const link = [...row.querySelectorAll('a[href]')].find((each) => each.getAttribute('href') === row.dataset.href);
  if (link === undefined) row.tabIndex = -1;
  (link ?? row).focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
}

function step(by) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(selectedRow());
  const next = at === -1 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
  select(all[next]);
}

// Tab and mouse also select rows.
document.addEventListener('focusin', (event) => {
  const row = event.target.closest?.('main table.list tr[data-href]');
  if (!row || row.hasAttribute('data-selected')) return;
  for (const other of document.querySelectorAll('tr[data-selected]')) other.removeAttribute('data-selected');
  row.setAttribute('data-selected', '');
});

// The whole row is a link, except while text in it is being selected.
document.addEventListener('click', (event) => {
  const row = event.target.closest?.('main table.list tr[data-href]');
  if (!row || event.defaultPrevented || event.button !== 0 || isSelecting()) return;
  if (event.target.closest('a, button, input, select, label, summary')) return;
  const box = event.target.closest('td[data-col="choose"]')?.querySelector('input');
  if (box) box.click();
  else if (event.ctrlKey || event.metaKey) open(row.dataset.href);
  else location.assign(row.dataset.href);
});

/** Opens the confirmation of an action on the checked rows, the selected row or the event. Never acts itself. */
function askFor(act) {
  const bar = byId('chosen');
  if (bar?.checkVisibility()) {
    // Rerun and discard apply to one group at a time, so with several checked groups the key does nothing.
    const button = bar.querySelector(`button[name="act"][value="${act}"]`);
    if (button !== null) button.form.requestSubmit(button);
    return;
  }
  const row = selectedRow();
  if (row !== null) {
    const form = [...row.querySelectorAll('form')].find((each) => each.elements.namedItem('act')?.value === act);
    // This form leads to a preview.
    if (form !== undefined) form.requestSubmit();
    else if (isEvent(row.dataset.href)) location.assign(`${row.dataset.href}#${act}`);
    return;
  }
  confirmFor(act);
}

function isEvent(href) {
  return /\/events\/[^/?#]+\/[^/?#]+$/.test(href);
}

/** Opens the dialog of an action on the event, or focuses the reason in a preview. */
function confirmFor(act) {
  const dialog = document.querySelector(`dialog#${act}, dialog#${act}-again`);
  if (dialog !== null) openDialog(dialog, true);
  // Other screens have no such action.
  else if (act === 'rerun') byId('run')?.querySelector('input[name="reason"]')?.focus();
}

// If a click opens a menu or makes a choice, its reason gets the focus, which saves a click. With keys, the focus stays.
function focusReason(part) {
  // An on-screen keyboard would cover the menu.
  if (!matchMedia('(pointer: fine)').matches) return;
  part.querySelector('input[name="reason"]')?.focus({ preventScroll: true });
}

document.addEventListener('click', (event) => {
  const details = event.target.closest?.('details.menu > summary')?.parentElement;
  if (details === undefined || event.detail === 0) return;
  setTimeout(() => details.open && focusReason(details));
});

document.addEventListener('change', ({ target }) => {
  if (target.type === 'radio' && !target.matches(':focus-visible')) focusReason(target.form);
});

// Enter alone does nothing in a form that only its button confirms.
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
  const [first, , button] = event.target.form?.querySelectorAll('[type="submit"]') ?? [];
  if (!first?.disabled) return;
  event.preventDefault();
  first.form.requestSubmit(button);
});

function isTyping(target) {
  return (
    target instanceof Element && target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable]')
  );
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector('dialog:modal') !== null) return;
  if (isTyping(event.target)) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  switch (event.key) {
    case '/': {
      const field = byId('search');
      if (field === null) return;
      field.focus();
      field.select();
      break;
    }
    case 'j':
      step(1);
      break;
    case 'k':
      step(-1);
      break;
    case 'x':
      selectedRow()?.querySelector('input[type="checkbox"]')?.click();
      break;
    case 'c':
      selectedRow()?.querySelector('[data-copy]')?.click();
      break;
    case 'r':
      askFor('rerun');
      break;
    case 'd':
      askFor('discard');
      break;
    case '?':
      openKeys();
      break;
    case 'Enter': {
      const row = selectedRow();
      if (row === null || (event.target !== document.body && event.target !== row)) return;
      location.assign(row.dataset.href);
      break;
    }
    case 'Escape':
      selectedRow()?.removeAttribute('data-selected');
      return;
    default:
      return;
  }
  event.preventDefault();
});

// ---- On load ----

bringBackTyped();
// On a narrow screen, the row of screens scrolls.
document.querySelector('.side [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
const here = new URL(location.href);
const linkedAct = /^#(rerun|discard)$/.exec(here.hash)?.[1];
const opened = byId(here.searchParams.get('ask') ?? '');
if (linkedAct !== undefined || here.searchParams.has('done') || opened !== null) {
  // A reload must not repeat the notice of an action. With a fragment, the browser would also move the focus.
  here.searchParams.delete('done');
  here.searchParams.delete('figures');
  here.searchParams.delete('ask');
  if (linkedAct !== undefined) here.hash = '';
  history.replaceState(null, '', here);
}
if (linkedAct !== undefined) confirmFor(linkedAct);
else if (opened?.matches('dialog')) openDialog(opened, false);

connect();
