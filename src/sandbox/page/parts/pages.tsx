/** Rows that a screen shows at a time. */
export const PAGE = 50;

/** A link to the same screen with other fields in its query; those that are `null` are left out. */
export function hrefWith(path: string, fields: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== null);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** One page of a list that is known as a whole, and where the next one begins; `null` after the last. */
export function pageOfAll<T>(
  all: readonly T[],
  url: URL,
): { readonly rows: readonly T[]; readonly next: string | null } {
  const asked = url.searchParams.get('from') ?? '';
  const from = /^\d{1,9}$/.test(asked) ? Number(asked) : 0;
  const next = from + PAGE;
  return { rows: all.slice(from, next), next: next < all.length ? String(next) : null };
}

/** To what comes after the last row of this page. */
export function NextPage({ href }: { readonly href: string }) {
  return (
    <p class="pages" id="older">
      <a href={href} rel="next">
        Older
      </a>
    </p>
  );
}
