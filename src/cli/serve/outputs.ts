/** The ways to print what `serve` reports. */
export const outputs = ['interactive', 'compact', 'ndjson'] as const;

/** One of them. */
export type Output = (typeof outputs)[number];
