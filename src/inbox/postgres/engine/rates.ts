import { RATE_COLUMNS, rateOf, ratesIn, type RateRow, type RatesRequest, type StoredRate } from '../../rules/rates.ts';
import { readyEndpoints } from './due-events.ts';
import type { Reading } from './transaction.ts';

const OF_LANES = 'endpoint = ANY($1::text[]) AND type = ANY($2::text[])';

/**
 * Two claims of a type count its attempts one after the other. The locks are taken in one order, after those of slots,
 * so a claim that has them does not wait again.
 */
export async function lockedRates(reading: Reading, requested: RatesRequest): Promise<readonly StoredRate[]> {
  const { session, t } = reading;
  const endpoints = [...new Set(await readyEndpoints(reading, requested.endpoints))];
  const values = [endpoints, requested.types];
  const lock = `SELECT ${RATE_COLUMNS} FROM ${t.rates} WHERE ${OF_LANES} ORDER BY endpoint, type FOR UPDATE`;
  let rows = await session.rows<RateRow>(lock, values);
  if (rows.length < endpoints.length * requested.types.length) {
    await session.run(
      `INSERT INTO ${t.rates} (${RATE_COLUMNS})
       SELECT named.endpoint, rated.type, 0, 0, 0, NULL, '[]'
       FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN unnest($2::text[]) AS rated (type) ORDER BY 1, 2
       ON CONFLICT (endpoint, type) DO NOTHING`,
      values,
    );
    rows = await session.rows<RateRow>(lock, values);
  }
  return ratesIn(endpoints, requested.types, rows.map(rateOf));
}

export async function ratesAt({ session, t }: Reading, endpoints: readonly string[]): Promise<readonly StoredRate[]> {
  const select = `SELECT ${RATE_COLUMNS} FROM ${t.rates} WHERE endpoint = ANY($1::text[])`;
  return (await session.rows<RateRow>(select, [endpoints])).map(rateOf);
}
