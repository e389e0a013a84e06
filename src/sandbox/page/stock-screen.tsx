import { number } from '../../ops/words/format.ts';
import { StoredText } from '../../page/parts/stored-text.tsx';
import type { Screen } from '../../page/visit.ts';
import { MOST_STOCK, type StockLevel } from '../inventory.ts';
import { ListTable, hrefWith, NextPage, pageOfAll, SandboxForm, type SandboxVisit } from './parts.tsx';

export function stockScreen(visit: SandboxVisit): Screen {
  const { rows, next } = pageOfAll(visit.sandbox.stock.list(), visit.url);
  return {
    title: 'Stock',
    current: '/stock',
    content: (
      <div id="live">
        <ListTable
          id="stock"
          rows={rows}
          idOf={({ locationId, productId }) => `stock-${locationId}-${productId}`}
          columns={[
            { label: 'product', cell: ({ productName }) => <StoredText text={productName} atMost={100} /> },
            { label: 'product id', cell: ({ productId }) => <code>{productId}</code> },
            { label: 'location', cell: ({ locationId }) => <code>{locationId}</code> },
            { label: 'in stock', cell: ({ quantity }) => number(quantity) },
            { label: 'set to', isActs: true, cell: (level) => <SetForm visit={visit} level={level} /> },
          ]}
        />
        {next !== null && <NextPage href={hrefWith(`${visit.base}/stock`, { from: next })} />}
      </div>
    ),
  };
}

function SetForm({ visit, level }: { readonly visit: SandboxVisit; readonly level: StockLevel }) {
  const { locationId, productId, productName, quantity } = level;
  const what = `the stock of ${productName} at ${locationId}`;
  return (
    <div class="actions">
      <SandboxForm visit={visit} to="/stock" label={`Set ${what}`}>
        <input type="hidden" name="location" value={locationId} />
        <input type="hidden" name="product" value={productId} />
        <input
          type="number"
          name="quantity"
          min={0}
          max={MOST_STOCK}
          value={quantity}
          required
          aria-label={`New quantity of ${productName} at ${locationId}`}
        />
        <button type="submit" aria-label={`Set ${what}`}>
          Set
        </button>
      </SandboxForm>
    </div>
  );
}
