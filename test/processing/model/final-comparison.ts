import type { EventKey } from '../../../src/inbox/event.ts';
import { bytesOf, factsOf, type EventContent } from './event-bytes.ts';
import type { InboxModel } from './inbox-model.ts';
import { nameOf, type ModelEvent } from './model-event.ts';
import type { Store } from './stores.ts';
import { must } from './violation.ts';

export interface Sent extends EventKey {
  readonly contents: EventContent[];
  acknowledged: boolean;
}

export function compareFacts(model: InboxModel, all: readonly Sent[]): void {
  for (const { endpoint, id, contents } of all) {
    const event = model.get({ endpoint, id });
    const content = contents.find((one) => event && Buffer.compare(bytesOf(id, one), event.body) === 0);
    must(content !== undefined && event !== undefined, 'stored ⊇ acknowledged', () => `nobody sent the body of ${id}`);
    const { type, entity, created, valid } = factsOf(content);
    const expected = JSON.stringify([type, entity, created]);
    const read = JSON.stringify([event.type, event.entity, event.created]);
    must(!valid || read === expected, 'the store agrees with the model', () => `${id}: ${read}, not ${expected}`);
  }
}

export async function findAll(model: InboxModel, { inboxes }: Store): Promise<void> {
  const operations = inboxes[0]?.operations;
  if (operations === undefined) return;
  while ((await operations.indexNew(100)) > 0);
  for (const { name, entity } of model.events) {
    if (entity === null) continue;
    const { events } = await operations.search({ entity }, { limit: 100 });
    must(events.map(nameOf).includes(name), 'what is stored is found', () => `${name} is about ${entity}`);
  }
}

export async function compareAttempts(model: InboxModel, { inboxes }: Store): Promise<void> {
  const [inbox] = inboxes;
  const text = (of: Readonly<ModelEvent['attempts']>): string =>
    of.map((one) => `${one.trigger} ${one.outcome}`).join();
  for (const { endpoint, id, attempts, deadReason, historyFrom, hasVanished, hasStep, pruned } of model.events) {
    const kept = (await inbox?.attempts({ endpoint, id })) ?? [];
    must(text(kept) === text(attempts), 'the store agrees with the model', () => `${id}: ${text(kept)}`);
    const steps = (await inbox?.steps({ endpoint, id })) ?? [];
    must(
      steps.length === Number(hasStep && !pruned),
      'the store agrees with the model',
      () => `${id} has ${steps.length} steps`,
    );
    if (deadReason !== 'crashed' || hasVanished) continue;
    const crashes = kept.slice(historyFrom).filter(({ outcome }) => outcome === 'crashed').length;
    must(crashes === 3, 'dead only for a reason', () => `${id} is dead(crashed) after ${crashes} crashes`);
  }
}
