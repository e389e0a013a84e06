import { signBody } from '../../src/index.ts';
import { signedEvent, type SignedDelivery } from '../helpers/signed-event.ts';
import { VERIFIER_SECRET } from './verifier-secret.ts';

export function verifiedDelivery(): SignedDelivery {
  const { body } = signedEvent({ note: 'Crème brûlée 🍮' });
  return { body, headers: [['X-Signature', signBody(body, VERIFIER_SECRET)]] };
}
