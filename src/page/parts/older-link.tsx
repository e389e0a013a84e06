/** Where a page of a long list begins, as the URL says; from the newest on unless it says a number. */
export function pageOf(url: URL): { readonly before: number | null } {
  const asked = url.searchParams.get('before') ?? '';
  const before = /^\d{1,15}$/.test(asked) ? Number(asked) : null;
  return { before };
}

/** To the first row of a list. */
export function BackLink({ href }: { readonly href: string }) {
  return (
    <p class="pages" id="back">
      <a href={href}>Back to the start</a>
    </p>
  );
}

/**
 * Links to the rows after the last one of this page, and back to the first page.
 *
 * @param among - what else the URL says: what the list is of
 */
export function PageLinks({
  url,
  next,
  among = [],
}: {
  readonly url: URL;
  /** where the next page begins; `null` if the list ends here */
  readonly next: number | null;
  readonly among?: readonly [name: string, value: string][];
}) {
  const older = new URLSearchParams([...among, ['before', String(next)]]);
  return (
    <>
      {pageOf(url).before !== null && <BackLink href={`?${new URLSearchParams([...among]).toString()}`} />}
      {next !== null && (
        <p class="pages" id="older">
          <a href={`?${older.toString()}`} rel="next">
            Older
          </a>
        </p>
      )}
    </>
  );
}
