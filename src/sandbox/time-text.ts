/** A time as bodies have it: ISO 8601 in UTC, to the millisecond. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
