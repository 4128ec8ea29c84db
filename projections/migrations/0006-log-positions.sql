-- A checkpoint is a commit and a prepare position. Null: the prepare position is the same as the commit position.
-- Where it is below, everything before the commit position has been taken, and nothing at it.
alter table checkpoints add column prepare_position numeric(20);
-- Of a checkpoint whose prepare position is below: the newest position of an event that the log is known to have had.
alter table checkpoints add column event_position numeric(20);
-- Some servers sent -1, as the largest number of 64 bits, while nothing had matched yet.
update checkpoints set position = null where position > 9223372036854775807 and applied_events = 0;
