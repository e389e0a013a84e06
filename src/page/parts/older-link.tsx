/** Where a page of a long list begins, as the URL says; from the newest on unless it says a number. */
export function pageOf(url: URL): { readonly before: number | null } {
  const asked = url.searchParams.get('before') ?? '';
  const before = /^\d{1,15}$/.test(asked) ? Number(asked) : null;
  return { before };
}

/**
 * To what comes after the last row of this page.
 *
 * @param among - what else the URL says: what the list is of
 */
export function OlderLink({
  before,
  among = [],
}: {
  readonly before: number;
  readonly among?: readonly [name: string, value: string][];
}) {
  const query = new URLSearchParams([...among, ['before', String(before)]]);
  return (
    <p class="pages" id="older">
      <a href={`?${query.toString()}`} rel="next">
        Older
      </a>
    </p>
  );
}
