/** As long as a reason in the audit may be. */
export const MAX_REASON = 1_000;

/** The reason for an action; it stands in the audit. */
export function ReasonField({
  value,
  isRequired = false,
  hasFocus = false,
}: {
  readonly value?: string;
  /** Enter in an empty field then sends nothing, so that one Enter too many does not start the action */
  readonly isRequired?: boolean;
  /** where the page has been opened for this action */
  readonly hasFocus?: boolean;
}) {
  return (
    <label>
      Reason{' '}
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
