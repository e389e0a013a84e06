// Keys, and what a link to an action has meant.
const byId = (id) => document.getElementById(id);

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
  // The link of the row says where it leads; a row without one is focused itself.
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

// Whoever goes through the page by tab or by mouse selects, too.
document.addEventListener('focusin', (event) => {
  const row = event.target.closest?.('main table.list tr[data-href]');
  if (!row || row.hasAttribute('data-selected')) return;
  for (const other of document.querySelectorAll('tr[data-selected]')) other.removeAttribute('data-selected');
  row.setAttribute('data-selected', '');
});

/** To where an action is confirmed, never further: that of all chosen rows, of the selected one, or of the event. */
function askFor(act) {
  const bar = byId('chosen');
  if (bar !== null && !bar.hidden) {
    // Groups are acted on one at a time: where several are chosen, none of them is meant alone.
    const button = bar.querySelector(`button[name="act"][value="${act}"]`);
    if (button !== null) button.form.requestSubmit(button);
    return;
  }
  const row = selectedRow();
  if (row !== null) {
    const form = [...row.querySelectorAll('form')].find((each) => each.elements.namedItem('act')?.value === act);
    // That form leads to a preview.
    if (form !== undefined) form.requestSubmit();
    else if (isEvent(row.dataset.href)) location.assign(`${row.dataset.href}#${act}`);
    return;
  }
  confirmFor(act);
}

function isEvent(href) {
  return /\/events\/[^/?#]+\/[^/?#]+$/.test(href);
}

/** Opens an action of the event, or goes to its preview; the reason has the focus then. */
function confirmFor(act) {
  const details = document.querySelector(`details#${act}, details#${act}-again`);
  if (details !== null) details.open = true;
  // Nothing else on a page is what was asked for.
  const preview = act === 'rerun' ? byId('run') : null;
  (details ?? preview)?.querySelector('input[name="reason"]')?.focus();
}

// Who opens an action by a pointer writes down why at once: one click less. With keys, the focus stays.
document.addEventListener('click', (event) => {
  const details = event.target.closest?.('details.act > summary')?.parentElement;
  if (details === undefined || event.detail === 0) return;
  setTimeout(() => {
    if (details.open) details.querySelector('input[name="reason"]')?.focus();
  });
});

function isTyping(target) {
  return (
    target instanceof Element && target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable]')
  );
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (keys?.open) return;
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

// ---- On arrival ----

const here = new URL(location.href);
const asked = /^#(rerun|discard)$/.exec(here.hash)?.[1];
if (asked !== undefined || here.searchParams.has('done')) {
  // What was done was said once; a reload need not say it again. And the browser would take the focus to the fragment.
  here.searchParams.delete('done');
  here.searchParams.delete('figures');
  if (asked !== undefined) here.hash = '';
  history.replaceState(null, '', here);
}
if (asked !== undefined) confirmFor(asked);
