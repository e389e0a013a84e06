/** What a server answers that did not look into the body: as long as hookbox's answer, in ASCII. */
export const answer = JSON.stringify({
  received: true,
  duplicate: false,
  id: 'evt_00000000-0000-0000-0000-000000000000',
});
