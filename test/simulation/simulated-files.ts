import { keyPath, notePath } from '../../src/adapters/files/file-key.ts';
import { sleep } from '../../src/async/sleep.ts';
import { type FileKey, type FileStore, FileStoreUnavailable, type RemovedFiles } from '../../src/ports/files.ts';
import type { Network } from './event-log-client.ts';

/** The file store: what is put is there, unless it fails. Its links lead nowhere. */
export class SimulatedFiles implements FileStore {
  readonly #network: Pick<Network, 'happens' | 'delayMs'>;
  readonly #take: (path: string) => number;
  /** Sizes in bytes by the paths of the keys. */
  readonly #sizes = new Map<string, number>();
  /** When the last link to a file ends, in milliseconds of Unix time. */
  readonly #linkedUntilMs = new Map<string, number>();
  readonly #notes = new Map<string, string>();
  #links = 0;
  onRemoval: (name: string, linkedUntilMs: number) => void = () => undefined;

  /** @param take takes a finished file away, and tells its size in bytes; default: there never is one */
  constructor(network: Pick<Network, 'happens' | 'delayMs'>, take: (path: string) => number = () => 9) {
    this.#network = network;
    this.#take = take;
  }

  has(key: FileKey): boolean {
    return this.#sizes.has(keyPath(key));
  }

  async put(key: FileKey, path: string): Promise<void> {
    const name = keyPath(key);
    await this.#reach();
    this.#sizes.set(name, this.#take(path));
  }

  async readNote(name: string): Promise<string | undefined> {
    await this.#reach();
    return this.#notes.get(notePath(name));
  }

  async keepNote(name: string, text: string): Promise<void> {
    await this.#reach();
    this.#notes.set(notePath(name), text);
  }

  async sizeBytes(key: FileKey): Promise<number | undefined> {
    await this.#reach();
    return this.#sizes.get(keyPath(key));
  }

  async remove(key: FileKey): Promise<void> {
    await this.#reach();
    this.#delete(keyPath(key));
  }

  async purge(token: string, except?: FileKey): Promise<RemovedFiles> {
    await this.#reach();
    const removed = { files: 0, bytes: 0 };
    for (const [name, bytes] of this.#sizes) {
      if (!name.startsWith(`${token}/`) || name === (except && keyPath(except))) continue;
      this.#delete(name);
      removed.files += 1;
      removed.bytes += bytes;
    }
    return removed;
  }

  async *tokens(): AsyncIterable<readonly string[]> {
    await this.#reach();
    yield [...new Set([...this.#sizes.keys()].map((name) => name.split('/')[0] ?? ''))];
  }

  async link(key: FileKey, { expiresAtSeconds }: { expiresAtSeconds: number }): Promise<string> {
    const name = keyPath(key);
    await this.#reach();
    this.#linkedUntilMs.set(name, expiresAtSeconds * 1_000);
    this.#links += 1;
    return `https://files.example/${name}?link=${String(this.#links)}`;
  }

  get count(): number {
    return this.#sizes.size;
  }

  get endsOfLinksMs(): number[] {
    return [...this.#linkedUntilMs.values()];
  }

  #delete(name: string): void {
    if (this.#sizes.delete(name)) this.onRemoval(name, this.#linkedUntilMs.get(name) ?? 0);
  }

  async #reach(): Promise<void> {
    const { happens, delayMs } = this.#network;
    await sleep(happens('file_store_late') ? delayMs(100, 8_000) : delayMs(0, 4));
    if (happens('file_store_fails')) throw new FileStoreUnavailable('the file store is away');
  }
}
