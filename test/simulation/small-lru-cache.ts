import { LRUCache as FullSize } from 'lru-cache';

const mostEntries = 20;

/**
 * The library's cache with room for fewer entries: it reserves all of its room at once, for each process of each
 * history, and what it drops has to be found elsewhere.
 */
export class LRUCache<Key extends object | string, Value extends object> extends FullSize<Key, Value> {
  constructor(options: FullSize.Options<Key, Value, unknown>) {
    const { max } = options;
    super({ ...options, ...(max !== undefined && { max: Math.min(max, mostEntries) }) });
  }
}
