import type { Child } from 'hono/jsx';

/** Names and values; those that are `null` are left out. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, Child>> }) {
  return (
    <dl class="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
