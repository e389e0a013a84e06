/** Columns padded to one width, numbers to the right: readable in a terminal as it is. */
export function table(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = heads.map((head, column) => Math.max(head.length, ...lines.map((line) => line[column]?.length ?? 0)));
  const pad = (text: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column === 0 ? text.padEnd(width) : text.padStart(width);
  };
  const join = (line: readonly string[]): string => `| ${line.map(pad).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [join(heads), `| ${rule.join(' | ')} |`, ...lines.map(join)].join('\n');
}

/** The slowest and the fastest round: how far the median may be trusted. */
export function range(rates: readonly number[]): string {
  return rates.length < 2 ? '–' : `${whole(Math.min(...rates))}–${whole(Math.max(...rates))}`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}`;
}
