import { env } from 'cloudflare:workers';
import { webhookVerifier } from 'hookbox/fetch';

const options = { secret: env.SIGNING_SECRET, maxBodyBytes: 60_000 };

export default {
  fetch: webhookVerifier(options, async ({ id, body, signature }) => {
    await env.EVENTS.send({ body: new TextDecoder().decode(body), signature });
    return Response.json({ received: true, id });
  }),
};
