import type { ErasedNames } from '../rules/erased-names.ts';

/** Few enough to be read between two deliveries. */
const PAGE = 100;

/** Where operators' actions are kept with what they were about, and pauses with their reasons. */
export interface KeptActs {
  /** Of how many kinds they are: lines of the audit, and bulks. */
  readonly kinds: number;
  /** Actions of a kind behind one of them, in their order. */
  page(kind: number, behind: number, limit: number): readonly KeptAct[] | Promise<readonly KeptAct[]>;
  write(kind: number, acts: readonly KeptAct[]): Promise<void>;
  /** whether one that is noted later has a higher number */
  readonly inOrder: boolean;
  /** Says anew why each type is paused; they are few. */
  rewritePauses(rewritten: (reason: string) => string): Promise<void>;
}

export interface KeptAct {
  readonly key: number;
  /** JSON */
  readonly filter: string;
  readonly reason: string | null;
}

/** How far `hideInActs` has come in each kind. */
export type HiddenUpTo = readonly number[];

/**
 * Replaces erased names in what is kept of operators' actions.
 *
 * @param from - where an earlier pass has ended
 * @returns where this one has ended
 */
export async function hideInActs(acts: KeptActs, names: ErasedNames, from: HiddenUpTo = []): Promise<HiddenUpTo> {
  const ends: number[] = [];
  for (let kind = 0; kind < acts.kinds; kind += 1) {
    let behind = (acts.inOrder ? from[kind] : undefined) ?? 0;
    for (;;) {
      const page = await acts.page(kind, behind, PAGE);
      await acts.write(
        kind,
        page.flatMap((act) => hidden(act, names)),
      );
      behind = page.at(-1)?.key ?? behind;
      if (page.length < PAGE) break;
    }
    ends.push(behind);
  }
  await acts.rewritePauses((reason) => names.hideIn(reason));
  return ends;
}

/** None when nothing had to be hidden. */
function hidden({ key, ...act }: KeptAct, names: ErasedNames): KeptAct[] {
  const filter = JSON.stringify(names.hideInAll(JSON.parse(act.filter)));
  const reason = names.hideInReason(act.reason);
  return filter === act.filter && reason === act.reason ? [] : [{ key, filter, reason }];
}
