import { createProcessor, createReceiver, signBody, type Outcome } from '../../../src/index.ts';
import type { Handler } from '../../../src/processing/handlers.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { Clock } from '../../../src/host/clock.ts';
import { silent } from '../../helpers/silent-logger.ts';
import type { Life } from './life.ts';
import { dutyOf, handlersOf, type Role } from './roles.ts';

const SECRET = 'the secret of the model test';
const LIMITS = {
  concurrency: 3,
  timeoutMs: 20_000,
  leaseMs: 3_000,
  retry: { attempts: 3, baseMs: 500, maxMs: 4_000 },
};

const RETENTION = { processedDays: 5 / (24 * 60) };

/** A process of the merchant's, running the real receiver and the real processor. */
export class SimulatedProcess {
  readonly role: Role;
  readonly life: Life;
  closed = false;
  readonly #deliver: ((body: Uint8Array) => Promise<Outcome>) | null;
  readonly #close: () => Promise<void>;

  constructor(role: Role, life: Life, inbox: Inbox, clock: Clock, handler: Handler<{ readonly id: string }>) {
    this.role = role;
    this.life = life;
    const handlers = handlersOf(role, handler);
    const shared = { inbox, logger: silent, processing: LIMITS, retention: RETENTION, clock };
    const { receives, endpoint, types } = dutyOf(role);
    if (receives !== undefined) {
      const receiver = createReceiver({ ...shared, endpoint: receives, secret: SECRET, handlers, deadlineMs: 10_000 });
      this.#deliver = (body) => receiver.receive({ body, signature: signBody(body, SECRET) });
      this.#close = () => receiver.close();
      if (types !== null) this.#start(receiver.start());
    } else {
      const processor = createProcessor({ ...shared, handlers, ...(endpoint === undefined ? {} : { endpoint }) });
      this.#deliver = null;
      this.#close = () => processor.close();
      this.#start(processor.start());
    }
  }

  get receives(): string | undefined {
    return dutyOf(this.role).receives;
  }

  get closing(): boolean {
    return this.life.closing;
  }

  deliver(body: Uint8Array): Promise<Outcome> {
    if (this.#deliver === null) throw new Error(`a process for ${this.role} takes no deliveries`);
    return this.#deliver(body);
  }

  close(): void {
    this.life.closing = true;
    this.#close().then(
      () => {
        this.closed = true;
      },
      () => this.#exit(),
    );
  }

  /** A process that cannot start exits. */
  #start(started: Promise<void>): void {
    started.catch(() => this.#exit());
  }

  #exit(): void {
    this.life.dead = true;
  }
}
