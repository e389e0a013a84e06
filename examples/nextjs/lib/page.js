import { opsPage } from 'hookbox/ops/page';
import { theReceiver } from './receiver.js';

let page;

export function thePage() {
  page ??= opsPage(theReceiver(), {
    basic: [{ user: 'operator', password: process.env.OPS_PASSWORD, role: 'operator' }],
  });
  return page;
}
