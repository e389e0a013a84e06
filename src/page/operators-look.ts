import type { Look } from './layout.tsx';

const NAVIGATION: Look['navigation'] = [
  ['/', 'Overview'],
  ['/events', 'Events'],
  ['/dead', 'Dead events'],
  ['/rejected', 'Rejected'],
  ['/bulks', 'Bulk actions'],
  ['/paused', 'Pauses'],
  ['/audit', 'Audit'],
  ['/health', 'Health'],
  ['/maintenance', 'Maintenance'],
];

const KEYS: ReturnType<Look['keys']> = [
  ['/', 'go to the search box'],
  ['j', 'next row'],
  ['k', 'previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['c', 'copy the id in the row'],
  ['r', 'rerun the selected events, this event, or the group in the row (asks first)'],
  ['d', 'discard the selected events, this event, or the group in the row (asks first)'],
  ['?', 'show this list of keys'],
  ['Esc', 'close the dialog, or leave the field'],
];

const OF_OPERATORS = new Set(['x', 'r', 'd']);

/** What the operators' page has around its screens. */
export const OPERATORS_LOOK: Look = {
  navigation: NAVIGATION,
  keys: (role) => KEYS.filter(([key]) => role === 'operator' || !OF_OPERATORS.has(key)),
  styles: ['page.css', 'lists.css'],
  search: { path: '/events', hint: 'Order, event, merchant or error' },
  footing(role) {
    const may = role === 'operator' ? 'an operator; the audit records what you do.' : 'a viewer; you can only read.';
    return `${may} All times are UTC.`;
  },
};
