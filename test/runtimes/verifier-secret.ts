export const VERIFIER_SECRET = 'the secret of the verifier';
