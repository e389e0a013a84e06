import { abortableInbox } from './abortable-inbox.ts';
import { flashOf } from './acts/flash.ts';
import { createFrame, type Frame, type FrameParts, type PageContext } from './frame.tsx';
import type { NamedInbox } from '../host/shell-words.ts';
import { OPERATORS_LOOK } from './operators-look.ts';
import type { Mask } from '../ops/body/mask.ts';
import type { Operated, Visit } from './visit.ts';

export type { PageContext, PageEnv } from './frame.tsx';

export interface ShellParts extends Pick<FrameParts, 'tokens' | 'site' | 'base'> {
  readonly operated: Operated;
  readonly mask: Mask;
  /** as commands name the inbox, where the page is told */
  readonly named: NamedInbox;
}

/** What all routes of the operators' page share. */
export interface Shell extends Frame, Pick<ShellParts, 'operated' | 'mask'> {
  /** @throws Error where the guard was not asked: such a route shows nothing */
  readonly visitOf: (c: PageContext) => Visit;
}

export function createShell({ operated, tokens, mask, site, base, named }: ShellParts): Shell {
  const frame = createFrame({ tokens, look: OPERATORS_LOOK, flashOf, site, base });

  const visitOf = (c: PageContext): Visit => {
    const visitor = frame.visitorOf(c);
    return {
      operated: { ...operated, inbox: abortableInbox(operated.inbox, c.req.raw.signal) },
      lasting: operated.inbox,
      visitor,
      base: frame.baseOf(c),
      csrf: tokens.tokenFor(visitor),
      url: new URL(c.req.url),
      now: new Date(),
      mask: mask.mask,
      masks: mask.masks,
      refusal: mask.refusal,
      liveOnly: c.req.header('hookbox-live') !== undefined,
      named,
    };
  };

  return { ...frame, operated, mask, visitOf };
}
