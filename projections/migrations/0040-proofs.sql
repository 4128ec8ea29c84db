-- The log of what was closed and invoiced: a Merkle tree (RFC 9162) whose leaves are hashes that the events have in their metadata.
create table proof_leaves (
  leaf_index bigint primary key, -- in the order of the event log, from 0
  hash text not null, -- the event's, hexadecimal: the entry of the leaf
  type text not null,
  stream text not null,
  revision bigint not null,
  event_id uuid not null unique,
  position numeric(20) not null
);

-- The hashes of complete subtrees, which never change; those of level 0 are of leaves.
create table proof_nodes (
  level smallint not null,
  node_index bigint not null,
  hash text not null,
  primary key (level, node_index)
);

-- Signed heads of the tree. Each stands at the revision of its event in the stream tree-heads.
create table proof_heads (
  size bigint primary key,
  origin text not null,
  root text not null,
  note text not null, -- the signed checkpoint
  key text not null, -- the public key
  revision bigint not null unique,
  position numeric(20) not null,
  time timestamptz not null
);
