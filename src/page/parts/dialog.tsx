import type { Child, PropsWithChildren } from 'hono/jsx';
import type { Visit } from '../visit.ts';
import { ActForm, type HiddenFields } from './form-fields.tsx';
import { Icon, type IconName } from './icon.tsx';

export interface AskParts {
  readonly id: string;
  readonly icon: IconName;
  readonly label: Child;
  readonly danger?: boolean;
}

/** The button that opens the dialog with this id. Without the script, the server shows the dialog on the screen. */
export function AskButton({ id, icon, label, danger = false }: AskParts) {
  return (
    <button name="ask" value={id} class={danger ? 'danger' : undefined}>
      <Icon name={icon} />
      {label}…
    </button>
  );
}

type DialogParts = PropsWithChildren<{
  readonly visit: Pick<Visit, 'visitor' | 'base' | 'csrf' | 'url'>;
  readonly id: string;
  /** open without being asked for, as after a refusal */
  readonly isOpen?: boolean;
  readonly title: Child;
  readonly to: string;
  /** the target of the cancel link without the script */
  readonly back: string;
  readonly button: string;
  readonly danger?: boolean;
  readonly byButton?: boolean;
  readonly hidden?: HiddenFields;
  readonly fields: Child;
  /** beneath the form */
  readonly below?: Child;
}>;

export function ActDialog(parts: DialogParts) {
  const { visit, id, isOpen = false, title, to, back, button, danger = false, byButton = danger, hidden = [] } = parts;
  const { fields, below, children } = parts;
  return (
    <dialog
      id={id}
      class="ask"
      aria-labelledby={`${id}-title`}
      open={isOpen || visit.url.searchParams.get('ask') === id}
    >
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
      <ActForm visit={visit} to={to} label={button} hidden={hidden} byButton={byButton}>
        {fields}
        <div class="confirm">
          <a class="button" href={back} data-close>
            Cancel
          </a>
          <button type="submit" class={danger ? 'danger' : 'primary'}>
            {button}
          </button>
        </div>
      </ActForm>
      {below}
    </dialog>
  );
}
