/** What deliveries to `/verifier` are signed with. */
export const VERIFIER_SECRET = 'the secret of the verifier';
