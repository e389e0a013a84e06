// A process that is killed: node ordering-process.ts <file> <receiver's URL>
import { setTimeout as sleep } from 'node:timers/promises';
import { createSandbox } from '../../src/sandbox/index.ts';
import { silent } from '../helpers/silent-logger.ts';

const [file = '', url = ''] = process.argv.slice(2);
const CLIENTS = 4;
const PAUSE_MS = 80;
const COFFEE = 'loc_coffee_hayes';
const PRODUCTS = ['prod_flat_white', 'prod_cold_brew', 'prod_espresso_beans'];

const sandbox = createSandbox({
  file,
  clock: 'real',
  webhooks: [{ to: url, secret: 'the secret of those who are killed' }],
  assumptions: { confirmedAfterMs: 20, readyAfterMs: 20, completedAfterMs: 20 },
  logger: silent,
});
for (const product of PRODUCTS) sandbox.stock.set(COFFEE, product, 1_000_000);

async function post(path: string, body: object): Promise<{ readonly id: string }> {
  const headers = { Authorization: sandbox.apiKey, 'Content-Type': 'application/json' };
  const request = new Request(`http://sandbox${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await sandbox.fetch(request);
  const { data, error } = (await answer.json()) as { data?: { id: string }; error?: object };
  if (data === undefined) throw new Error(`${path}: ${JSON.stringify(error)}`);
  return data;
}

async function client(name: number): Promise<void> {
  for (let n = name; ; n += 1) {
    const { id } = await post('/order', {
      customer: { name: 'Ada' },
      items: [{ product_id: PRODUCTS[n % PRODUCTS.length], quantity: 1 + (n % 3) }],
      location_id: COFFEE,
      fulfillment_method: 'Pickup',
    });
    if (n % 4 !== 0) await post(`/order/${id}/submit`, { payment_method_id: 'pm_ok' });
    await sleep(PAUSE_MS);
  }
}

await Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)));
