import { deadGroups, getEvent, listEvents, type EventFilter } from 'hookbox/ops';
import { opsPage } from 'hookbox/ops/page';
import type { Inbox } from 'hookbox';

/** Something an operator asks. */
export interface Question {
  readonly title: string;
  readonly ask: () => Promise<unknown>;
}

/** What @hono/node-server tells of a request from this machine. */
const FROM_HERE = { incoming: { socket: { remoteAddress: '127.0.0.1' } } };
const DAY_MS = 24 * 3_600_000;

/** What operators ask of a shop's file, by the functions and by the page that shows it. */
export async function questions(inbox: Inbox): Promise<readonly Question[]> {
  const page = opsPage({ inbox }, { unsafeOpen: true });
  const { events } = await listEvents(inbox, { states: ['dead'] }, { limit: 1 });
  const [dead] = events;
  if (dead === undefined) throw new Error('There is no dead event in the file.');

  const list = (title: string, filter: EventFilter): Question => ({ title, ask: () => listEvents(inbox, filter) });
  const screen = (title: string, path: string): Question => ({
    title: `page: ${title}`,
    async ask() {
      const answer = await page.request(`http://localhost${path}`, {}, FROM_HERE);
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text.slice(0, 200)}`);
    },
  });

  return [
    list('events', {}),
    list('by state: dead', { states: ['dead'] }),
    list('by state: pending', { states: ['pending'] }),
    list('by state: processed', { states: ['processed'] }),
    list('retrying', { retrying: true }),
    list('by type', { types: ['order.created'] }),
    list('by event id', { id: dead.id }),
    list('by entity', { entity: dead.entity ?? '' }),
    list('by merchant', { merchant: 'mer_7' }),
    list('by error text', { error: 'the till' }),
    list('by error text that nothing has', { error: 'no such error' }),
    list('of the last day', { since: new Date(Date.now() - DAY_MS) }),
    list('redelivered', { redelivered: true }),
    list('superseded', { superseded: true }),
    list('with a conflict', { conflict: true }),
    list('by body', { body: [{ path: 'data.total', value: '12.50' }] }),
    list('by body that nothing has', { body: [{ path: 'data.total', value: '-1' }] }),
    { title: 'one event', ask: () => getEvent(inbox, dead) },
    { title: 'groups of dead events', ask: () => deadGroups(inbox) },
    screen('overview, 1 h', '/?range=1h'),
    screen('overview, 24 h', '/?range=24h'),
    screen('overview, 30 d', '/?range=30d'),
    screen('events', '/events'),
    screen('one event', `/events/${dead.endpoint}/${dead.id}`),
    screen('dead events', '/dead'),
  ];
}
