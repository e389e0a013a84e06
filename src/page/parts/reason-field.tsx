/** As long as a reason in the audit may be. */
export const MAX_REASON = 1_000;

/** The reason for an act; it stands in the audit. */
export function ReasonField({ value }: { readonly value?: string }) {
  return (
    <label>
      Reason, for the audit <input type="text" name="reason" value={value} maxlength={MAX_REASON} autocomplete="off" />
    </label>
  );
}
