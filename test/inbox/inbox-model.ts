import type { Acceptance, IncomingEvent, StoredEvent } from '../../src/inbox/event.ts';

type Known = Omit<StoredEvent, 'seq'>;
type Times = { readonly all: number[] };

interface Entry {
  content: IncomingEvent;
  verified: boolean;
  readonly receivedAt: number;
  readonly redelivered: Times;
  readonly conflicted: Times;
  other: Uint8Array | null;
}

/** A model of an inbox that shares no code with the source. */
export class InboxModel {
  readonly #entries = new Map<string, Entry>();

  get ids(): readonly string[] {
    return [...this.#entries.keys()];
  }

  accept(event: IncomingEvent): Acceptance {
    const entry = this.#entries.get(event.id);
    if (entry === undefined) {
      this.#entries.set(event.id, {
        content: event,
        verified: event.verified,
        receivedAt: event.receivedAt,
        redelivered: { all: [] },
        conflicted: { all: [] },
        other: null,
      });
      return { result: 'stored', conflict: false, replaced: false };
    }

    entry.redelivered.all.push(event.receivedAt);
    const same = hex(entry.content.body) === hex(event.body);
    const trust = Number(event.verified) - Number(entry.verified);
    const mends = event.valid && !entry.content.valid;
    const replaces = trust >= 0 && (mends || (trust > 0 && !same));
    const loser = replaces ? entry.content.body : event.body;
    if (!same) {
      entry.other = loser;
      entry.conflicted.all.push(event.receivedAt);
    }
    if (replaces) entry.content = event;
    if (trust > 0 && (replaces || same)) entry.verified = true;
    return { result: 'duplicate', conflict: !same && !replaces, replaced: replaces };
  }

  get(id: string): Known | null {
    const entry = this.#entries.get(id);
    if (entry === undefined) return null;
    const { endpoint, type, created, entity, valid, body } = entry.content;
    return {
      endpoint,
      id,
      type,
      created,
      entity,
      verified: entry.verified,
      state: valid ? 'pending' : 'dead',
      deadReason: valid ? null : 'invalid',
      body,
      receivedAt: new Date(entry.receivedAt),
      redeliveries: occurrences(entry.redelivered),
      conflict: entry.other === null ? null : { ...occurrences(entry.conflicted), body: entry.other },
    };
  }
}

function occurrences({ all }: Times) {
  const dates = all.map((ms) => new Date(ms));
  return { count: all.length, firstAt: dates[0] ?? null, lastAt: dates.at(-1) ?? null, recent: dates.slice(-20) };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
