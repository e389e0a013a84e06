import type { Child, PropsWithChildren } from 'hono/jsx';
import type { Visit } from '../visit.ts';

export type HiddenFields = readonly (readonly [name: string, value: string])[];

type FormParts = PropsWithChildren<{
  readonly visit: Pick<Visit, 'visitor' | 'base' | 'csrf'>;
  readonly to: string;
  readonly id?: string;
  readonly label: string;
  readonly enctype?: 'multipart/form-data';
  readonly hidden?: HiddenFields;
  /** Enter in a field does nothing: only the button itself confirms */
  readonly byButton?: boolean;
}>;

/** A form of an action, with the token; only operators get one. */
export function ActForm({ visit, to, id, label, enctype, hidden = [], byButton = false, children }: FormParts) {
  if (visit.visitor.role !== 'operator') return <></>;
  return (
    <form id={id} method="post" action={`${visit.base}${to}`} aria-label={label} enctype={enctype}>
      {[['csrf', visit.csrf] as const, ...hidden].map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {byButton && <NothingByEnter />}
      {children}
    </form>
  );
}

/**
 * Enter in a text field presses the first button of the form, which does nothing if it is disabled. Elsewhere, such as in
 * a box, some browsers then press the next button; a form outside of a dialog does nothing by the method `dialog`.
 */
function NothingByEnter() {
  return (
    <>
      <button type="submit" disabled hidden />
      <button type="submit" formmethod="dialog" formnovalidate hidden />
    </>
  );
}

export const MAX_REASON = 1_000;

interface ReasonParts {
  readonly value?: string;
  readonly isRequired?: boolean;
  readonly hasFocus?: boolean;
}

export function ReasonField({ value, isRequired = false, hasFocus = false }: ReasonParts) {
  return (
    <label>
      Reason{isRequired ? '' : ' (optional)'}{' '}
      <input
        type="text"
        name="reason"
        value={value}
        maxlength={MAX_REASON}
        autocomplete="off"
        required={isRequired}
        autofocus={hasFocus}
      />
    </label>
  );
}

type InputAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export function Field({ label, ...input }: InputAttributes & { readonly label: string }) {
  return (
    <label class="field">
      <span>{label}</span> <input type="text" {...input} />
    </label>
  );
}

interface SelectParts {
  readonly label: string;
  readonly name: string;
  readonly value: string | undefined;
  readonly options: readonly (readonly [value: string, words: string])[];
}

export function SelectField({ label, name, value, options }: SelectParts) {
  return (
    <label class="field">
      <span>{label}</span>{' '}
      <select name={name}>
        {options.map(([option, words]) => (
          <option value={option} selected={option === value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

type ChoiceParts = PropsWithChildren<{
  readonly legend: string;
  /** in place of a line that wraps: `picks` is a grid */
  readonly kind?: 'picks';
  readonly name: string;
  readonly type?: 'checkbox' | 'radio';
  readonly options: readonly string[];
  readonly words?: (option: string) => Child;
  readonly chosen: readonly string[];
}>;

export function Choices({ legend, kind, name, type = 'checkbox', options, words, chosen, children }: ChoiceParts) {
  return (
    <fieldset class={kind ?? 'choices'}>
      <legend>{legend}</legend>
      {options.map((option) => (
        <label>
          <input type={type} name={name} value={option} checked={chosen.includes(option)} required={type === 'radio'} />{' '}
          {words?.(option) ?? <bdi>{option}</bdi>}
        </label>
      ))}
      {children}
    </fieldset>
  );
}
