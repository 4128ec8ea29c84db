import { sleep } from '../../src/async/sleep.ts';
import { FileStoreUnavailable } from '../../src/ports/files.ts';
import type { FileKey, FileStore } from '../../src/ports/files.ts';
import type { Network } from './event-log-client.ts';

/** The file store: what is put is there, unless it fails. */
export class SimulatedFiles implements FileStore {
  readonly names = new Set<string>();
  readonly #network: Pick<Network, 'happens' | 'delayMs'>;

  constructor(network: Pick<Network, 'happens' | 'delayMs'>) {
    this.#network = network;
  }

  has(key: FileKey): boolean {
    return this.names.has(nameOf(key));
  }

  async put(key: FileKey): Promise<void> {
    await this.#reach();
    this.names.add(nameOf(key));
  }

  async sizeBytes(key: FileKey): Promise<number | undefined> {
    await this.#reach();
    return this.has(key) ? 9 : undefined;
  }

  async remove(key: FileKey): Promise<void> {
    await this.#reach();
    this.names.delete(nameOf(key));
  }

  async purge(token: string, except?: FileKey): Promise<{ files: number; bytes: number }> {
    await this.#reach();
    for (const name of this.names)
      if (name.startsWith(`${token} `) && name !== (except && nameOf(except))) this.names.delete(name);
    return { files: 0, bytes: 0 };
  }

  async *tokens(): AsyncIterable<readonly string[]> {
    yield [];
  }

  async link(key: FileKey): Promise<string> {
    await this.#reach();
    return `https://files.example/${nameOf(key)}`;
  }

  async #reach(): Promise<void> {
    const { happens, delayMs } = this.#network;
    await sleep(happens('file_store_late') ? delayMs(100, 8_000) : delayMs(0, 4));
    if (happens('file_store_fails')) throw new FileStoreUnavailable('the file store is away');
  }
}

const nameOf = ({ token, claimRevision, name }: FileKey) => `${token} ${String(claimRevision)} ${name}`;
