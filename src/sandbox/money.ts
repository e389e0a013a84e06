/** Amounts are whole cents inside and decimal USD outside (A11). */
export type Cents = number;

/** Half up: 1.005 USD is 101 cents, although 1.005 is a little less than that in binary. */
export function centsOf(usd: number): Cents {
  const text = String(usd);
  // Beyond this a number is written with an exponent; and so little is nothing.
  return text.includes('e') ? Math.round(usd * 100) : Math.round(Number(`${text}e2`));
}

/** What stands in bodies. */
export function usdOf(cents: Cents): number {
  return cents / 100;
}

/** A part of an amount, such as its tax, half up. A rate counts to its sixth digit. */
export function partOf(cents: Cents, rate: number): Cents {
  const millionths = Math.round(rate * 1e6);
  return Number((BigInt(cents) * BigInt(millionths) + 500_000n) / 1_000_000n);
}
