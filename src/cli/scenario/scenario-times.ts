/** The two largest units that are not zero, for people. */
export function inWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

/** A time since the start as `hh:mm:ss`. */
export function asClock(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const digits = (value: number): string => String(value).padStart(2, '0');
  return `${digits(Math.floor(seconds / 3_600))}:${digits(Math.floor(seconds / 60) % 60)}:${digits(seconds % 60)}`;
}
