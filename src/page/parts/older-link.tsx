/** Where a page of a long list begins, as the URL says; from the newest on unless it says a number. */
export function pageOf(url: URL): { readonly before: number | null } {
  const asked = url.searchParams.get('before') ?? '';
  const before = /^\d{1,15}$/.test(asked) ? Number(asked) : null;
  return { before };
}

/** To what comes after the last row of this page. */
export function OlderLink({ before }: { readonly before: number }) {
  return (
    <p class="pages" id="older">
      <a href={`?before=${before}`} rel="next">
        Older
      </a>
    </p>
  );
}
