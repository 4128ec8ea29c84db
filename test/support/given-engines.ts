interface GivenEngines {
  eventStoreUrl: string | undefined;
  databaseUrl: string | undefined;
  natsUrl: string | undefined;
}

/**
 * Engines that somebody else runs, by address: only for `npm run test:engines` and `npm run test:containers`. They are not ours
 * to stop or kill, but they are for tests alone: databases and queues are made and removed in them.
 */
export function readGivenEngines(): GivenEngines {
  const isWanted = ['given', 'containers'].includes(process.env['TEST_ENGINES'] ?? '');
  // An empty variable counts as one that is not set, as everywhere in the service.
  const given = (name: string) => (isWanted && process.env[name] !== '' ? process.env[name] : undefined);
  return { eventStoreUrl: given('EVENTSTORE_URL'), databaseUrl: given('DATABASE_URL'), natsUrl: given('NATS_URL') };
}

export const givenEngines = readGivenEngines();

/** Behind ports that a container's own idea of its address knows nothing of. */
export const areInContainers = process.env['TEST_ENGINES'] === 'containers';
