import type { Tables } from '../../sql/tables.ts';
import type { Migration } from './migration.ts';

export const leftBehind: Migration = {
  version: 11,
  name: 'what processes leave behind',
  needs: 1,
  sql: (t) => `
    -- Where the front of an entity is looked for: what yields holds nobody back, however much of it there is. Of no statement
    -- but one that asks for it in these words, as others have an index of their own.
    CREATE INDEX queue_holding ON ${t.queue} (entity, endpoint, (created_ms + 0), created_ns, seq)
      WHERE lease_until_ms IS NULL AND entity IS NOT NULL AND NOT yields;
    -- The number of the claim that has found it crashed: where its answer is lost, the next one tells of it.
    ALTER TABLE ${t.attempts} ADD COLUMN found_by bigint;
    CREATE INDEX attempts_found ON ${t.attempts} (found_by) WHERE found_by IS NOT NULL;
    -- An older hookbox that erases or prunes an event does not know the columns of step 7.
    CREATE FUNCTION ${clearing(t)}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE ${t.events} SET trace = NULL WHERE seq = NEW.seq AND erased_ms IS NOT NULL AND trace IS NOT NULL;
      UPDATE ${t.attempts} SET skipped = NULL WHERE seq = NEW.seq AND skipped IS NOT NULL;
      RETURN NULL;
    END $$;
    CREATE TRIGGER events_erased AFTER UPDATE OF body ON ${t.events}
      FOR EACH ROW WHEN (NEW.body IS NULL) EXECUTE FUNCTION ${clearing(t)}();
    -- When whoever runs a bulk was last heard of, after how many events, and whether that was to say that it stops. An older hookbox
    -- says nothing.
    ALTER TABLE ${t.bulks} ADD COLUMN heard_ms bigint;
    ALTER TABLE ${t.bulks} ADD COLUMN heard_worked integer;
    ALTER TABLE ${t.bulks} ADD COLUMN stopped boolean NOT NULL DEFAULT false;
  `,
};

/** The full name of the function of a trigger, beside that of its table. */
function clearing({ events }: Tables): string {
  return events.replace(/"$/, '_erased"');
}
