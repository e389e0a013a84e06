import { number } from '../../ops/words/format.ts';
import { DataTable } from '../../page/parts/list-table.tsx';
import { StoredText } from '../../page/parts/text.tsx';
import type { Screen } from '../../page/visit.ts';
import { MOST_STOCK, type StockLevel } from '../inventory.ts';
import { pageOfAll, SandboxForm, type SandboxVisit } from './parts.tsx';

export function stockScreen(visit: SandboxVisit): Screen {
  const { rows, older } = pageOfAll(visit, '/stock', visit.sandbox.stock.list());
  return {
    title: 'Stock',
    current: '/stock',
    content: (
      <div id="live">
        <DataTable
          id="stock"
          kind="groups"
          rows={rows}
          rowIs={({ locationId, productId }) => ({ id: `stock-${locationId}-${productId}` })}
          columns={[
            [
              'product',
              ({ productName }) => <StoredText text={productName} atMost={100} />,
              { 'data-label': 'product', 'data-col': 'event' },
            ],
            ['product id', ({ productId }) => <code>{productId}</code>],
            ['location', ({ locationId }) => <code>{locationId}</code>],
            ['in stock', ({ quantity }) => number(quantity), { 'data-label': 'in stock', class: 'figures' }],
            [<span class="unseen">set to</span>, (level) => setForm(visit, level), { 'data-col': 'acts' }],
          ]}
        />
        {older}
      </div>
    ),
  };
}

function setForm(visit: SandboxVisit, { locationId: location, productId: product, productName, quantity }: StockLevel) {
  const what = `the stock of ${productName} at ${location}`;
  const hidden = Object.entries({ location, product });
  return (
    <div class="row-acts">
      <SandboxForm visit={visit} to="/stock" label={`Set ${what}`} hidden={hidden}>
        <input
          type="number"
          name="quantity"
          min={0}
          max={MOST_STOCK}
          value={quantity}
          required
          aria-label={`New quantity of ${productName} at ${location}`}
        />
        <button type="submit" aria-label={`Set ${what}`}>
          Set
        </button>
      </SandboxForm>
    </div>
  );
}
