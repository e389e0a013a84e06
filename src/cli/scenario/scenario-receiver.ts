/** What the inbox of a receiver holds about one event. */
export interface EventFinding {
  readonly id: string;
  readonly body: Uint8Array | null;
  readonly state: string;
  readonly redeliveries: number;
  /** attempts of its handler that succeeded */
  readonly processed: number;
  /** rows that its handler has written; `null` where that cannot be known */
  readonly effects: number | null;
  /** its type, where no handler takes it; `null` otherwise */
  readonly untakenType: string | null;
}

/** What became of the events of a scenario. */
export interface Findings {
  readonly events: readonly EventFinding[];
  /** handler runs, and those that were told of a newer event; `null` where that cannot be known */
  readonly runs: number | null;
  readonly superseded: number | null;
}

/** The receiver that a scenario is played to. */
export interface ScenarioReceiver extends AsyncDisposable {
  readonly url: URL;
  readonly secret: string;
  goDown(): Promise<void>;
  comeUp(): Promise<void>;
  /** Whether it can be reached; one that is run elsewhere cannot be stopped, so it is left alone instead. */
  reachable(): boolean;
  /** Waits until everything that is stored is handled. */
  keepUp(): Promise<void>;
  /** How many of these events it holds already. */
  known(ids: readonly string[]): Promise<number>;
  /**
   * Waits until nothing is left to do, and tells what the inbox holds; `null` where it cannot be looked into.
   *
   * @param ids - the events to look for; a receiver of our own tells of all it holds
   * @param onWait - called when it takes a while, with how many events are not handled yet
   */
  findings(ids: readonly string[], onWait: (count: number) => void): Promise<Findings | null>;
}

/** Nothing needs longer, unless something is wrong; then the scenario is judged by what is there. */
export const PATIENCE_MS = 30_000;
