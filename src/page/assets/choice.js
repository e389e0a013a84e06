// What is chosen in a list by its boxes: events, or groups of them.
(() => {
  'use strict';

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
    const bar = byId('chosen');
    const all = byId('choose-all');
    if (bar === null || all === null) return;
    const chosen = boxes().filter((box) => box.checked).length;
    all.hidden = false;
    all.checked = chosen > 0 && chosen === boxes().length;
    all.indeterminate = chosen > 0 && !all.checked;
    bar.hidden = chosen === 0;
    byId('chosen-count').textContent = `${chosen} selected:`;
  }

  // A browser that comes back to a page remembers its boxes.
  addEventListener('pageshow', showChoice);
  document.addEventListener('rows', showChoice);
  showChoice();
})();
