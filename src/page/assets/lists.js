// Selection: the checkboxes of a list select events or groups.
(() => {
  const byId = (id) => document.getElementById(id);
  const live = byId('live');
  if (live === null) return;

  const BOX = 'input[type="checkbox"]:is([name="event"], [name="fingerprint"])';
  const boxes = () => [...live.querySelectorAll(BOX)];
  let lastClicked = null;

  live.addEventListener('click', (event) => {
    const box = event.target;
    if (!box.matches?.(BOX)) return;
    const all = boxes();
    const from = all.indexOf(lastClicked);
    if (event.shiftKey && from !== -1) {
      const to = all.indexOf(box);
      for (const each of all.slice(Math.min(from, to), Math.max(from, to) + 1)) each.checked = box.checked;
    }
    lastClicked = box;
  });

  live.addEventListener('change', (event) => {
    if (event.target.id === 'choose-all') for (const box of boxes()) box.checked = event.target.checked;
    showChoice();
  });

  function showChoice() {
    const all = byId('choose-all');
    if (all === null) return;
    const chosen = boxes().filter((box) => box.checked).length;
    all.hidden = false;
    all.checked = chosen > 0 && chosen === boxes().length;
    all.indeterminate = chosen > 0 && !all.checked;
    byId('chosen-count').textContent = `${chosen} selected:`;
  }

  // On a return to a page, a browser restores its checkboxes.
  addEventListener('pageshow', showChoice);
  document.addEventListener('rows', showChoice);
  showChoice();
})();

// Lists of events: updates that do not move rows, and a search that continues until the page is full.
(() => {
  const byId = (id) => document.getElementById(id);
  const list = document.querySelector('#live[data-list]');

  // Empty fields stay out of URLs. Without the script, the server removes them.
  document.addEventListener('formdata', ({ target, formData }) => {
    if (target.method !== 'get') return;
    for (const name of new Set(formData.keys())) {
      const said = formData.getAll(name).filter((value) => typeof value !== 'string' || value.trim() !== '');
      formData.delete(name);
      for (const value of said) formData.append(name, value);
    }
  });
  if (location.href.endsWith('?')) history.replaceState(null, '', location.pathname);

  if (list === null) return;

  /** A URL has room for the names of this many rows, however long the names are. */
  const NAMED_AT_ONCE = 20;
  /** Each update requests all rows shown, so their number has a limit. */
  const MOST_PAGES = 4;

  const body = () => list.querySelector('#events tbody');
  const rowsOf = (within) => [...(within?.querySelectorAll('#events tbody tr') ?? [])];

  async function partsAt(href, signal) {
    const headers = { Accept: 'text/html', 'Hookbox-Live': '1' };
    const answer = await fetch(href, { headers, redirect: 'error', signal });
    if (!answer.ok) throw new Error(String(answer.status));
    return new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('live');
  }

  // ---- Rows do not move: a row changes in its place, and new rows wait behind a button. ----

  /** the newest page from the server */
  let latest = null;

  list.addEventListener('bring', (event) => {
    event.preventDefault();
    const { to, morph } = event.detail;
    latest = to;
    const counted = to.querySelector('#count');
    if (counted !== null && counted.textContent !== '') byId('count').textContent = counted.textContent;
    // The state chips are outside of the list.
    const states = to.ownerDocument.getElementById('states');
    if (states !== null) morph(byId('states'), states);
    if (body() === null) {
      showFirst(to);
      return;
    }
    const others = renew(rowsOf(to), morph);
    void renewByName(others, morph);
    showNewCount();
  });

  /** In an empty list, no row can move. */
  function showFirst(to) {
    const found = to.querySelector('#choice, #events');
    if (found === null) return;
    byId('none')?.remove();
    byId('tally').after(document.importNode(found, true));
    const older = to.querySelector('#older');
    if (byId('older') === null && older !== null) list.append(document.importNode(older, true));
    arrived();
  }

  /** @returns the shown rows that are not among `rows` */
  function renew(rows, morph) {
    const now = new Map(rows.map((row) => [row.id, row]));
    const others = [];
    for (const row of rowsOf(list)) {
      const next = now.get(row.id);
      if (next === undefined) others.push(row);
      else morph(row, next);
    }
    showColumns(rows);
    return others;
  }

  let renewing = false;

  /** Requests by name the rows that no longer match, or are on another page now. Only one round runs at a time. */
  async function renewByName(others, morph) {
    if (renewing) return;
    renewing = true;
    const { pathname } = location;
    try {
      for (let at = 0; at < others.length; at += NAMED_AT_ONCE) {
        const some = others.slice(at, at + NAMED_AT_ONCE);
        const query = new URLSearchParams(some.map((row) => ['event', row.dataset.event]));
        renew(rowsOf(await partsAt(`${pathname}?${query}&limit=${NAMED_AT_ONCE}`)), morph);
      }
    } catch {
      // The next update tries again.
    } finally {
      renewing = false;
    }
  }

  /** Shows an omitted column as soon as a row has a value in it. */
  function showColumns(rows) {
    const table = byId('events');
    const without = table.dataset.without.split(' ');
    const still = without.filter(
      (column) => !rows.some((row) => row.querySelector(`[data-col="${column}"]`)?.textContent),
    );
    table.dataset.without = still.join(' ');
  }

  const newIn = (to) => rowsOf(to).filter((row) => byId(row.id) === null);

  function showNewCount() {
    const rows = rowsOf(latest);
    const count = newIn(latest).length;
    const holder = byId('new-rows');
    if (count === 0) {
      holder.replaceChildren();
      return;
    }
    const all = count === rows.length && latest.querySelector('#older') !== null;
    const text = `${count}${all ? ' or more' : ''} new`;
    const [button = document.createElement('button')] = holder.children;
    button.type = 'button';
    button.id = 'show-new';
    if (button.textContent !== text) button.textContent = text;
    if (!button.isConnected) holder.append(button);
  }

  list.addEventListener('click', (event) => {
    if (event.target.id === 'show-new') showNew();
  });

  function showNew() {
    const shown = body();
    const rows = rowsOf(latest);
    const fresh = newIn(latest);
    // Other new rows may be between these and the shown rows, so the shown rows go, except the selected ones.
    if (fresh.length === rows.length) drop(rowsOf(list));
    let before = shown.firstElementChild;
    for (const row of rows) {
      const there = byId(row.id);
      if (there === null) shown.insertBefore(document.importNode(row, true), before);
      else before = there.nextElementSibling;
    }
    drop(rowsOf(list).slice(MOST_PAGES * Number(byId('events').dataset.rows)));
    byId('new-rows').replaceChildren();
    showColumns(rows);
    arrived();
    byId(fresh[0]?.id)?.querySelector('th a')?.focus({ preventScroll: true });
  }

  /** Removes the rows that are not selected. The next page then follows the first page without a gap. */
  function drop(rows) {
    const dropped = rows.filter((row) => !isChosen(row));
    for (const row of dropped) row.remove();
    // A running search keeps its own place.
    if (dropped.length === 0 || going !== null) return;
    byId('older')?.remove();
    const older = latest.querySelector('#older');
    if (older !== null) list.append(document.importNode(older, true));
  }

  function arrived() {
    document.dispatchEvent(new Event('rows'));
  }

  // ---- A search continues until the page is full, or all events are searched. ----

  let going = null;

  function begin() {
    if (going !== null) return;
    going = new AbortController();
    void goOn(going.signal).finally(() => (going = null));
  }

  async function goOn(signal) {
    let looked = Number(byId('older')?.dataset.examined ?? 0);
    for (;;) {
      const older = byId('older');
      if (older === null || older.dataset.examined === undefined) return;
      const room = Number(byId('events')?.dataset.rows ?? 50) - rowsOf(list).length;
      if (room <= 0) {
        tell(older, looked, 'The search stopped because the page is full.', false);
        return;
      }
      tell(older, looked, '', true);
      let parts;
      try {
        parts = await partsAt(`${older.querySelector('a').getAttribute('href')}&limit=${room}`, signal);
      } catch {
        const why = signal.aborted
          ? 'Search stopped.'
          : 'Search failed: the server did not answer. Search further to retry.';
        tell(older, looked, why, false);
        return;
      }
      if (parts === null) return;
      looked += Number(parts.querySelector('#older')?.dataset.examined ?? 0);
      take(parts);
    }
  }

  /** Adds the rows of the next step, and the link to the step after it. */
  function take(parts) {
    const rows = rowsOf(parts).filter((row) => byId(row.id) === null);
    if (body() === null) {
      const found = parts.querySelector('#choice, #events');
      if (found !== null) byId('tally').after(document.importNode(found, true));
    } else {
      body().append(...rows.map((row) => document.importNode(row, true)));
      showColumns(rows);
    }
    const older = parts.querySelector('#older');
    if (older !== null) byId('older').replaceWith(document.importNode(older, true));
    else byId('older').remove();
    const none = parts.querySelector('#none');
    if (older === null && none !== null && body() === null) {
      list.append(document.importNode(none, true));
      // No event is left to act on.
      byId('acts')?.remove();
    }
    arrived();
  }

  function tell(older, looked, what, isGoing) {
    const said = byId('looked');
    const share = older.dataset.looked;
    const bar = document.createElement('progress');
    bar.setAttribute('aria-label', 'Search progress');
    if (share !== undefined) bar.value = Number(share);
    const events = looked === 1 ? '1 event' : `${looked.toLocaleString('en-GB')} events`;
    const text = `${events} searched, ${rowsOf(list).length} found. ${what} `;
    said.replaceChildren(...(isGoing ? [bar, ' '] : []), text);
    older.querySelector('#stop')?.remove();
    if (!isGoing) return;
    const stop = document.createElement('button');
    stop.type = 'button';
    stop.id = 'stop';
    stop.textContent = 'Stop';
    older.append(' ', stop);
  }

  list.addEventListener('click', (event) => {
    if (event.target.id === 'stop') {
      going?.abort();
      return;
    }
    const link = event.target.closest?.('#older[data-examined] a');
    const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    // On a full page, the link leads to the next page.
    if (!link || !isPlain || rowsOf(list).length >= Number(byId('events')?.dataset.rows ?? 50)) return;
    event.preventDefault();
    begin();
  });

  // A search ends when its visitor leaves the page. On a return, the page is unchanged.
  addEventListener('pagehide', () => going?.abort());

  const isChosen = (row) => row.querySelector('input[name="event"]')?.checked === true;

  begin();
})();

// On a phone, the row of state chips scrolls.
document.querySelector('#states [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

// The search box: suggestions while a visitor types.
(() => {
  const box = document.getElementById('search');
  const sheet = document.getElementById('suggested');
  if (box === null || sheet === null) return;

  const WAIT_MS = 120;
  let timer = 0;
  let asking = null;
  let suggestions = [];
  let chosen = -1;

  box.setAttribute('role', 'combobox');
  box.setAttribute('aria-autocomplete', 'list');
  box.setAttribute('aria-controls', sheet.id);
  box.setAttribute('aria-expanded', 'false');

  function close() {
    clearTimeout(timer);
    asking?.abort();
    suggestions = [];
    choose(-1);
    sheet.hidden = true;
    box.setAttribute('aria-expanded', 'false');
  }

  function choose(at) {
    chosen = at;
    for (const [n, option] of [...sheet.children].entries()) option.setAttribute('aria-selected', String(n === at));
    const option = sheet.children[at];
    if (option === undefined) box.removeAttribute('aria-activedescendant');
    else {
      box.setAttribute('aria-activedescendant', option.id);
      option.scrollIntoView({ block: 'nearest' });
    }
  }

  function show() {
    sheet.replaceChildren(
      ...suggestions.map(({ name, detail }, n) => {
        const option = document.createElement('li');
        option.id = `suggested-${n}`;
        option.setAttribute('role', 'option');
        const parts = [name, detail].map((text) => {
          const part = document.createElement('bdi');
          part.textContent = text;
          return part;
        });
        option.append(...parts);
        return option;
      }),
    );
    choose(-1);
    sheet.hidden = suggestions.length === 0 || document.activeElement !== box;
    box.setAttribute('aria-expanded', String(!sheet.hidden));
  }

  async function ask() {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const query = new URLSearchParams({ q: box.value });
    try {
      const answer = await fetch(`${box.dataset.suggestions}?${query}`, { redirect: 'error', signal });
      if (!answer.ok) return;
      suggestions = await answer.json();
      if (!signal.aborted) show();
    } catch {
      // The box works without suggestions.
    }
  }

  function askSoon() {
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT_MS);
  }

  function take(at) {
    const { line, isWhole } = suggestions[at];
    box.value = line;
    close();
    box.focus();
    if (isWhole) box.form.requestSubmit();
    else askSoon();
  }

  box.addEventListener('input', askSoon);
  box.addEventListener('focus', () => {
    // Suggestions continue a line only after a space.
    if (box.value !== '' && !/\s$/.test(box.value)) return;
    askSoon();
  });
  box.addEventListener('blur', close);
  box.form.addEventListener('submit', () => close());
  // The box keeps the focus.
  sheet.addEventListener('mousedown', (event) => event.preventDefault());
  sheet.addEventListener('click', (event) => {
    const at = [...sheet.children].indexOf(event.target.closest('li'));
    if (at !== -1) take(at);
  });
  box.addEventListener('keydown', (event) => {
    const count = suggestions.length;
    if (event.isComposing || sheet.hidden || count === 0) return;
    if (event.key === 'ArrowDown') choose(chosen + 1 < count ? chosen + 1 : -1);
    else if (event.key === 'ArrowUp') choose(chosen === -1 ? count - 1 : chosen - 1);
    else if (event.key === 'Enter' && chosen !== -1) take(chosen);
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
  });
})();

// Views: filters that the browser saves by name.
(() => {
  const menu = document.getElementById('views');
  if (menu === null) return;
  const key = `hookbox views of ${menu.dataset.views}`;
  const sheet = menu.querySelector('.sheet');
  const MOST = 30;

  function read() {
    try {
      const views = JSON.parse(localStorage.getItem(key) ?? '[]');
      return views.filter(({ name, query }) => typeof name === 'string' && typeof query === 'string');
    } catch {
      return [];
    }
  }

  function keep(views) {
    try {
      localStorage.setItem(key, JSON.stringify(views.slice(-MOST)));
    } catch {
      // The browser allows no storage. The URL of the page still has the filter.
    }
    show();
  }

  const made = (name, attributes, ...children) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...children);
    return element;
  };
  /** A view does not include the place in the list. */
  const query = () => {
    const fields = new URLSearchParams(location.search);
    for (const name of ['before', 'beforeAt', 'among', 'takenFor', 'takenName', 'found', 'limit']) fields.delete(name);
    return fields.toString();
  };

  function show() {
    const views = read();
    const list = made(
      'ul',
      {},
      ...views.map((view) => {
        const link = made(
          'a',
          { href: `${location.pathname}${view.query === '' ? '' : `?${view.query}`}` },
          made('bdi', { textContent: view.name }),
        );
        if (view.query === query()) link.setAttribute('aria-current', 'true');
        const remove = made('button', { type: 'button', textContent: 'Remove' });
        remove.setAttribute('aria-label', `Remove the view ${view.name}`);
        remove.addEventListener('click', (event) => {
          event.stopPropagation();
          keep(read().filter(({ name }) => name !== view.name));
        });
        return made('li', {}, link, remove);
      }),
    );
    const name = made('input', {
      type: 'text',
      maxLength: 60,
      required: true,
      autocomplete: 'off',
      placeholder: 'Name',
    });
    name.setAttribute('aria-label', 'Name of the view');
    const form = made('form', {}, name, made('button', { type: 'submit', textContent: 'Save this view' }));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const view = { name: name.value.trim(), query: query() };
      if (view.name !== '') keep([...read().filter((each) => each.name !== view.name), view]);
    });
    const none = made('p', {
      className: 'muted',
      textContent: 'No saved views yet. This browser keeps the views that you save. To share a view, copy its link.',
    });
    const link = made('button', { type: 'button', textContent: 'Copy link' });
    link.dataset.copyLink = '';
    sheet.replaceChildren(views.length === 0 ? none : list, form, link);
  }

  show();
  menu.hidden = false;
})();
