import express from 'express';
import { isKnown } from 'hookbox';
import { webhookVerifier } from 'hookbox/express';

const app = express();
app.post('/webhooks', webhookVerifier({ secret: process.env.SIGNING_SECRET }), (req, res) => {
  const event = req.webhookEvent;
  if (event !== undefined && isKnown(event) && event.type === 'order.created') console.log(event.data.total);
  res.json({ received: true });
});
app.listen(process.env.PORT ?? 3000);
