// Charts: figures beside the pointer, drag to zoom, and a legend that hides series. Also the time zone of typed times.
(() => {
  const isLocal = document.documentElement.dataset.times === 'local';
  const CHART = 'svg.chart[data-since]';
  const LEAST_DRAG_PX = 6;

  const made = (name) => {
    const element = document.createElement('div');
    element.className = name;
    element.hidden = true;
    element.setAttribute('aria-hidden', 'true');
    document.body.append(element);
    return element;
  };
  // Outside of the part that live updates replace.
  const cross = made('cross');
  const readout = made('readout');
  let drag = null;
  let last = null;

  const two = (value) => String(value).padStart(2, '0');
  const dayOf = (at) =>
    at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...(!isLocal && { timeZone: 'UTC' }) });
  const timeOf = (at) => (isLocal ? `${two(at.getHours())}:${two(at.getMinutes())}` : at.toISOString().slice(11, 16));

  const stepMsOf = (chart) => Number(chart.dataset.step);
  const beginOf = (chart, n) => new Date(Date.parse(chart.dataset.since) + n * stepMsOf(chart));

  function placeIn(chart, x) {
    const box = chart.getBoundingClientRect();
    const steps = Number(chart.dataset.steps);
    const n = Math.min(Math.max(Math.floor(((x - box.left) / box.width) * steps), 0), steps - 1);
    return { box, steps, n };
  }

  function hide() {
    cross.hidden = readout.hidden = true;
    last = null;
  }

  function show(chart, x) {
    const { box, steps, n } = placeIn(chart, x);
    const from = beginOf(chart, n);
    const to = beginOf(chart, n + 1);
    const until = dayOf(from) === dayOf(to) || timeOf(to) === '00:00' ? timeOf(to) : `${dayOf(to)} ${timeOf(to)}`;
    const head = document.createElement('strong');
    head.textContent = `${dayOf(from)} ${timeOf(from)} – ${until}`;
    const rows = [...chart.closest('figure').querySelectorAll('[data-series]')]
      .filter((item) => item.getAttribute('aria-pressed') !== 'false')
      .map((item) => {
        const row = document.createElement('p');
        const figure = document.createElement('b');
        figure.textContent = item.dataset.values.split('|')[n] ?? '';
        row.append(item.querySelector('svg').cloneNode(true), item.querySelector('.of').textContent, figure);
        return row;
      });
    readout.replaceChildren(head, ...rows);
    cross.hidden = readout.hidden = false;
    const begun = drag?.chart === chart && drag.moved ? drag.n : n;
    const left = box.left + (Math.min(n, begun) / steps) * box.width;
    cross.style.left = `${left}px`;
    cross.style.width = `${((Math.abs(n - begun) + 1) / steps) * box.width}px`;
    cross.style.top = `${box.top}px`;
    cross.style.height = `${box.height - 20}px`;
    cross.classList.toggle('brush', drag?.moved === true);
    const middle = box.left + ((n + 0.5) / steps) * box.width;
    const beside = middle + 16 + readout.offsetWidth > innerWidth ? middle - 16 - readout.offsetWidth : middle + 16;
    readout.style.left = `${Math.max(4, beside)}px`;
    readout.style.top = `${Math.max(4, Math.min(box.top + 8, innerHeight - readout.offsetHeight - 4))}px`;
  }

  document.addEventListener('pointermove', (event) => {
    const chart = drag?.chart ?? event.target.closest?.(CHART);
    if (!chart) {
      if (last !== null) hide();
      return;
    }
    if (drag !== null && Math.abs(event.clientX - drag.x) > LEAST_DRAG_PX) drag.moved = true;
    last = { chart, x: event.clientX };
    show(chart, event.clientX);
  });

  document.addEventListener('pointerdown', (event) => {
    const chart = event.target.closest?.(CHART);
    // A finger scrolls the page.
    if (!chart || event.pointerType === 'touch' || event.button !== 0 || event.shiftKey || event.ctrlKey) return;
    drag = { chart, x: event.clientX, n: placeIn(chart, event.clientX).n, moved: false };
  });

  document.addEventListener('pointerup', (event) => {
    const ended = drag;
    drag = null;
    if (!ended?.moved) return;
    addEventListener('click', stop, { capture: true, once: true });
    setTimeout(() => removeEventListener('click', stop, { capture: true }));
    const { n } = placeIn(ended.chart, event.clientX);
    const ends = [Math.min(n, ended.n), Math.max(n, ended.n) + 1];
    const [since, until] = ends.map((end) => `${beginOf(ended.chart, end).toISOString().slice(0, 16)}Z`);
    const to = new URL(location.href);
    to.searchParams.delete('zone');
    to.searchParams.set('range', `${since}/${until}`);
    location.assign(to);
  });

  function stop(event) {
    event.preventDefault();
    event.stopPropagation();
  }

  // The columns of a chart are links, which a browser would drag away.
  document.addEventListener('dragstart', (event) => {
    if (event.target.closest?.(CHART)) event.preventDefault();
  });

  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    drag = null;
    hide();
  });

  addEventListener('scroll', hide, { passive: true });
  addEventListener('blur', hide);

  // ---- The legend ----

  /** the hidden series of each chart */
  const off = new Map();

  function switchSeries(item) {
    const figure = item.closest('figure');
    const series = off.get(figure.id) ?? new Set();
    off.set(figure.id, series);
    if (!series.delete(item.dataset.series)) series.add(item.dataset.series);
    prepare();
  }

  document.addEventListener('click', (event) => {
    const item = event.target.closest?.('[data-series]');
    if (item) switchSeries(item);
  });

  document.addEventListener('keydown', (event) => {
    const item = event.target.closest?.('[data-series]');
    if (!item || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    switchSeries(item);
  });

  /** After each live update, because an update shows all series again. */
  function prepare() {
    for (const item of document.querySelectorAll('[data-series]')) {
      const figure = item.closest('figure');
      const series = off.get(figure.id) ?? new Set();
      figure.dataset.off = [...series].join(' ');
      item.setAttribute('role', 'button');
      item.tabIndex = 0;
      item.setAttribute('aria-pressed', String(!series.has(item.dataset.series)));
    }
    // The figures beside the pointer replace these titles.
    for (const title of document.querySelectorAll(`${CHART} a > title, ${CHART} g > title`)) {
      if (title.closest('.began') !== null) continue;
      title.parentElement.dataset.says = title.textContent;
      title.remove();
    }
    if (last !== null && last.chart.isConnected) show(last.chart, last.x);
    if (!isLocal) return;
    for (const field of document.querySelectorAll('input[name="zone"]')) field.value = -new Date().getTimezoneOffset();
    for (const zone of document.querySelectorAll('figure .zone')) zone.textContent = 'local time';
    for (const text of document.querySelectorAll('svg text[data-at]')) {
      const at = new Date(text.dataset.at);
      text.textContent = 'day' in text.dataset || timeOf(at) === '00:00' ? dayOf(at) : timeOf(at);
    }
  }

  document.addEventListener('rows', prepare);
  prepare();
})();
