import type { Operation } from './recording.ts';

type Unsynced<Kind> = { readonly at: number; readonly operation: Kind };
type Change = Extract<Operation, { kind: 'write' | 'truncate' }>;

const SECTOR = 512;

class Contents {
  #bytes: Buffer;
  #size: number;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#bytes = Buffer.from(bytes);
    this.#size = bytes.length;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  change(change: Change): void {
    if (change.kind === 'write') return this.write(change.offset, change.bytes);
    this.#bytes.fill(0, change.size, this.#size);
    this.#size = change.size;
    this.#reach(change.size);
  }

  write(offset: number, bytes: Buffer): void {
    this.#reach(offset + bytes.length);
    bytes.copy(this.#bytes, offset);
  }

  #reach(size: number): void {
    this.#size = Math.max(this.#size, size);
    if (this.#size <= this.#bytes.length) return;
    const larger = Buffer.alloc(this.#size * 2);
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }
}

class DiskFile {
  readonly synced = new Contents();
  readonly now = new Contents();
  unsynced: Unsynced<Change>[] = [];
}

export type Files = ReadonlyMap<string, Buffer>;

/** A disk after a power cut: of data that was not synced, any part may be there, in any order. */
export class Disk {
  readonly #syncedNames = new Map<string, DiskFile>();
  readonly #names = new Map<string, DiskFile>();
  #unsyncedNames: Unsynced<{ readonly name: string; readonly file: DiskFile | null }>[] = [];
  #operations = 0;

  do(operation: Operation): void {
    const at = this.#operations;
    this.#operations += 1;
    const { kind, name } = operation;
    switch (kind) {
      case 'create':
        return this.#name(at, name, new DiskFile());
      case 'unlink':
        return this.#name(at, name, null);
      case 'sync':
        return name === '' ? this.#syncNames(operation.begun) : this.#sync(this.#file(name), operation.begun);
      case 'write':
      case 'truncate': {
        const file = this.#file(name);
        file.now.change(operation);
        file.unsynced.push({ at, operation });
      }
    }
  }

  synced(): Files {
    return new Map([...this.#syncedNames].map(([name, { synced }]) => [name, synced.bytes]));
  }

  now(): Files {
    return new Map([...this.#names].map(([name, { now }]) => [name, now.bytes]));
  }

  torn(random: () => number): Files {
    const names = new Map(this.#syncedNames);
    const held = new Set<string>();
    for (const { operation } of this.#unsyncedNames) {
      if (held.has(operation.name) || random() < 0.5) held.add(operation.name);
      else setName(names, operation.name, operation.file);
    }
    return new Map([...names].map(([name, file]) => [name, tornContents(file, random)]));
  }

  #file(name: string): DiskFile {
    const file = this.#names.get(name);
    if (file === undefined) throw new Error(`${name} was not created in what is recorded`);
    return file;
  }

  #name(at: number, name: string, file: DiskFile | null): void {
    setName(this.#names, name, file);
    this.#unsyncedNames.push({ at, operation: { name, file } });
  }

  #syncNames(begun: number): void {
    const isOver = ({ at }: { readonly at: number }): boolean => at < begun;
    for (const { operation } of this.#unsyncedNames.filter(isOver)) {
      setName(this.#syncedNames, operation.name, operation.file);
    }
    this.#unsyncedNames = this.#unsyncedNames.filter((unsynced) => !isOver(unsynced));
  }

  #sync(file: DiskFile, begun: number): void {
    const isOver = ({ at }: { readonly at: number }): boolean => at < begun;
    for (const { operation } of file.unsynced.filter(isOver)) file.synced.change(operation);
    file.unsynced = file.unsynced.filter((unsynced) => !isOver(unsynced));
  }
}

function setName(names: Map<string, DiskFile>, name: string, file: DiskFile | null): void {
  if (file === null) names.delete(name);
  else names.set(name, file);
}

function tornContents({ synced, unsynced }: DiskFile, random: () => number): Buffer {
  const contents = new Contents(synced.bytes);
  for (const { operation } of unsynced) {
    const fate = random();
    if (fate < 0.4) continue;
    if (fate < 0.8 || operation.kind === 'truncate') contents.change(operation);
    else writeSome(contents, operation.offset, operation.bytes, random);
  }
  return contents.bytes;
}

function writeSome(contents: Contents, offset: number, bytes: Buffer, random: () => number): void {
  for (let from = 0; from < bytes.length;) {
    const to = Math.min(bytes.length, from + SECTOR - ((offset + from) % SECTOR));
    if (random() < 0.5) contents.write(offset + from, bytes.subarray(from, to));
    from = to;
  }
}
