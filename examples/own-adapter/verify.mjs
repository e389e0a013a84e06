import { createVerifier, isErrorOutcome } from 'hookbox';

const verifier = createVerifier({ secret: process.env.SIGNING_SECRET });

export async function verify(delivery) {
  const verified = await verifier.verify(delivery);
  if (isErrorOutcome(verified)) return { status: verified.status, body: verified.body };
  console.log(verified.id, verified.event.type, verified.body.byteLength);
  return { status: 200, body: { received: true } };
}
