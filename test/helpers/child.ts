import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundledScript } from './bundled-script.ts';

/** Deno wants to be told that it is a script's name, and what the script may do. */
const RUNTIME = [process.execPath, ...('Deno' in globalThis ? ['run', '--allow-all'] : [])];

/** A script of these tests in a process of its own, which talks to the test in lines of text. */
export class Child implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown[]>;
  readonly #name: string;

  /** @param around - a command that runs the script in surroundings of its own, such as a smaller disk */
  constructor(script: URL, args: readonly string[] = [], around: readonly string[] = []) {
    const [command = '', ...rest] = [...around, ...RUNTIME, fileURLToPath(script), ...args];
    this.#name = script.pathname;
    this.#process = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    const { stdin, stdout } = this.#process;
    if (stdin === null || stdout === null) throw new Error('a child without pipes');
    stdin.on('error', () => {}); // it may be gone already; its exit says so
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    this.#ended = once(this.#process, 'close');
  }

  /** The same script, bundled: it starts in a third of the time. */
  static async bundled(script: URL, args: readonly string[] = [], around: readonly string[] = []): Promise<Child> {
    return new Child(pathToFileURL(await bundledScript(script)), args, around);
  }

  /** What it says next; an end without a word is an error. */
  async line(): Promise<string> {
    const next: IteratorResult<string, unknown> = await this.#lines.next();
    if (next.done !== true) return next.value;
    throw new Error(`${this.#name} ended (${String((await this.#ended)[0])}) before it said anything`);
  }

  say(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }

  /** Lets it see the end of its input, and waits until it has ended by itself. */
  async finish(): Promise<void> {
    this.#process.stdin?.end();
    const [code, signal] = await this.#ended;
    if (code !== 0) throw new Error(`${this.#name} ended with ${String(code ?? signal)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }
}
