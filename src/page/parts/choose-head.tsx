/** The head of a column of boxes: with the script, a box for all that are shown. */
export function ChooseHead() {
  return (
    <>
      <input type="checkbox" id="choose-all" aria-label="Select all shown" hidden />
      <span class="unseen">select</span>
    </>
  );
}
