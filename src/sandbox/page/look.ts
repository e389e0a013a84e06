import type { Look } from '../../page/layout.tsx';

/** What the dashboard has around its screens. */
export const DASHBOARD_LOOK: Look = {
  navigation: [
    ['/', 'Orders'],
    ['/deliveries', 'Deliveries'],
    ['/webhooks', 'Webhooks'],
    ['/keys', 'API keys'],
    ['/stock', 'Stock'],
    ['/clock', 'Clock'],
    ['/faults', 'Faults'],
  ],
  keys: () => [
    ['j', 'next row'],
    ['k', 'previous row'],
    ['Enter', 'open the row'],
    ['?', 'show this list of keys'],
    ['Esc', 'close the dialog, or leave the field'],
  ],
  styles: ['page.css', 'sandbox.css'],
  footing(role) {
    const may = role === 'operator' ? 'an operator; you can do everything here.' : 'a viewer; you can only read.';
    return `${may} All times come from the sandbox clock and are in UTC.`;
  },
};
