import type { PropsWithChildren } from 'hono/jsx';
import { Icon, type IconName } from './icon.tsx';

type MenuParts = PropsWithChildren<{
  readonly id?: string;
  readonly icon: IconName;
  readonly label: string;
  /** beside the icon; without it, only screen readers get the label */
  readonly words?: string;
}>;

/** A button that opens a sheet. */
export function Menu({ id, icon, label, words, children }: MenuParts) {
  return (
    <details class={words === undefined ? 'menu plain' : 'menu'} id={id}>
      <summary
        aria-label={words === undefined || words !== label ? label : undefined}
        title={words === undefined ? label : undefined}
      >
        <Icon name={icon} />
        {words}
      </summary>
      <div class="sheet">{children}</div>
    </details>
  );
}
