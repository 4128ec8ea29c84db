import type { RecordedEvent } from '../rules/audited-log.ts';
import type { Link } from '../rules/event-schemas.ts';
import { HashTree } from '../rules/hash-tree.ts';
import { treeHeadsStream } from '../rules/streams.ts';
import { entryOf, isTreeLeaf } from '../rules/tree-heads.ts';
import type { ExpectedRows } from './expected-rows.ts';

/** Notes which rows of the tree of what was closed and invoiced each event must have made. */
export class RowsOfProofs {
  readonly #rows: ExpectedRows;
  readonly #tree = new HashTree();

  constructor(rows: ExpectedRows) {
    this.#rows = rows;
  }

  /** @param event of the whole log, in its order */
  apply(event: RecordedEvent): void {
    const of = { accountId: '', at: event, day: '', isNew: true } as const;
    if (event.stream === treeHeadsStream && event.type === 'TreeHeadSigned') {
      const subject = event as Link;
      this.#rows.expect({ ...of, table: 'proof_heads', key: String(subject.data.size), subject });
      return;
    }
    if (!isTreeLeaf(event)) return;
    const entry = entryOf(event);
    const subject = { event, index: this.#tree.size, entry };
    this.#rows.expect({ ...of, table: 'proof_leaves', key: String(subject.index), subject });
    for (const node of this.#tree.add(entry)) {
      const key = `${String(node.level)} ${String(node.node_index)}`;
      this.#rows.expect({ ...of, table: 'proof_nodes', key, subject: node });
    }
  }
}
