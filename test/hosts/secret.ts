export const SECRET = 'the secret of the hosts';
