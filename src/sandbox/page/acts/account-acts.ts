import { eventTypes, type EventType } from '../../../events/event-types.ts';
import { fieldOf, valuesOf } from '../../../page/safety/posted-form.ts';
import { durationMs } from '../../clock.ts';
import { notFound } from '../../errors.ts';
import { PERMISSIONS } from '../../service-operations.ts';
import { FormError, type Act } from '../act.ts';
import { createdKeyScreen } from '../screens/keys-screen.tsx';
import { newSecretScreen } from '../screens/webhooks-screen.tsx';

/** What the holder of an account does: API keys, and the endpoints of webhooks. */
export const ACCOUNT_ACTS: Readonly<Record<string, Act>> = {
  '/keys': ({ sandbox, form }) => {
    const expires = fieldOf(form, 'expires');
    const asked = valuesOf(form, 'permissions');
    const permissions = PERMISSIONS.filter((permission) => asked.includes(permission));
    if (permissions.length === 0) throw new FormError('Select at least one permission.');
    const expiresAt = expires === '' ? null : new Date(sandbox.now().getTime() + durationMs(expires));
    const created = sandbox.keys.create({ name: fieldOf(form, 'name').slice(0, MOST_NAME), permissions, expiresAt });
    return { to: '/keys', said: 'key-made', once: (visit) => createdKeyScreen(visit, created) };
  },

  '/keys/:id/rotate': ({ sandbox, id }) => {
    const created = sandbox.keys.rotate(id);
    return { to: '/keys', said: 'key-made', once: (visit) => createdKeyScreen(visit, created) };
  },

  '/keys/:id/delete': ({ sandbox, id }) => {
    sandbox.keys.delete(id);
    return { to: '/keys', said: 'key-deleted' };
  },

  '/webhooks': ({ sandbox, form }) => {
    const signing = fieldOf(form, 'signing');
    const url = fieldOf(form, 'url');
    const events = eventsOf(form);
    const sent = form.get('secret');
    const own = typeof sent === 'string' ? sent : ''; // with its white space: it is the other side's, too
    if (signing !== 'own' && own !== '') {
      throw new FormError('You entered a secret. Select “with your own secret”, or clear the field.');
    }
    if (signing === 'new') {
      const secret = sandbox.webhooks.newSecret();
      const id = sandbox.webhooks.add({ url, secret, events });
      return { to: '/webhooks', said: 'webhook-added', once: (visit) => newSecretScreen(visit, id, secret) };
    }
    if (signing !== 'own' && signing !== 'none') throw new FormError('Select how webhooks are signed.');
    sandbox.webhooks.add({ url, secret: signing === 'own' ? own : null, events });
    return { to: '/webhooks', said: 'webhook-added' };
  },

  '/webhooks/:id/change': ({ sandbox, id, form }) => {
    const url = fieldOf(form, 'url');
    if (!sandbox.webhooks.change(id, { events: eventsOf(form), ...(url !== '' && { url }) }))
      throw notFound('endpoint', id);
    return { to: `/webhooks/${id}`, said: 'webhook-changed' };
  },

  '/webhooks/:id/secret': ({ sandbox, id }) => {
    const secret = sandbox.webhooks.newSecret();
    if (!sandbox.webhooks.change(id, { secret })) throw notFound('endpoint', id);
    return { to: `/webhooks/${id}`, said: 'secret-made', once: (visit) => newSecretScreen(visit, id, secret) };
  },

  '/webhooks/:id/delete': ({ sandbox, id }) => {
    if (!sandbox.webhooks.remove(id)) throw notFound('endpoint', id);
    return { to: '/webhooks', said: 'webhook-removed' };
  },

  '/webhooks/:id/retry-dead': ({ sandbox, id }) => {
    return { to: '/deliveries', said: 'retrying-dead', figures: [sandbox.deliveries.retryDead(id)] };
  },
};

const MOST_NAME = 200;

/** `null` where all are chosen, so that a type that comes later is wanted, too. */
function eventsOf(form: FormData): readonly EventType[] | null {
  const asked = valuesOf(form, 'events');
  const events = eventTypes.filter((type) => asked.includes(type));
  if (events.length === 0) throw new FormError('Select at least one event type.');
  return events.length === eventTypes.length ? null : events;
}
