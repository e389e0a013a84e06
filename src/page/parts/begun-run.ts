// That a run has begun is true until it has ended, so the screen says it and not the action.

/** The screen of a bulk action whose run has just begun. */
export function begunHref(href: string): string {
  return `${href}?done=running`;
}

/** Whether a visitor comes from the button that began it. */
export function isBegun({ searchParams }: URL): boolean {
  return searchParams.get('done') === 'running';
}
