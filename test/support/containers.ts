import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers';

/** The images of production; a variable of this name in the environment names another one. */
const images = {
  EVENTSTORE_IMAGE: 'eventstore/eventstore:24.10',
  POSTGRES_IMAGE: 'postgres:18',
  NATS_IMAGE: 'nats:2.12',
};

export interface Containers {
  addresses: { EVENTSTORE_URL: string; DATABASE_URL: string; NATS_URL: string };
  stop: () => Promise<void>;
}

const password = 'for-tests';

/** @throws where there is no container engine, or an image cannot be had; it says which */
export async function startContainers(progress: (sentence: string) => void): Promise<Containers> {
  await getContainerRuntimeClient().catch((error: unknown) => {
    throw new Error(
      'No container engine (Docker or Podman) answers here. Start one, or use npm run test:engines with addresses.',
      { cause: error },
    );
  });
  const running: StartedTestContainer[] = [];
  const stop = async () => {
    await Promise.all(running.map((container) => container.stop()));
  };
  const start = async (
    name: keyof typeof images,
    port: number,
    prepare: (made: GenericContainer) => GenericContainer,
  ) => {
    const image = process.env[name] ?? images[name];
    progress(`starting ${image}`);
    const made = new GenericContainer(image).withExposedPorts(port).withWaitStrategy(Wait.forListeningPorts());
    const container = await prepare(made)
      .start()
      .catch((error: unknown) => {
        throw new Error(`${image} could not be started: ${String(error)}. ${name} names another image.`, {
          cause: error,
        });
      });
    running.push(container);
    return `${container.getHost()}:${container.getMappedPort(port)}`;
  };
  try {
    const eventStore = await start('EVENTSTORE_IMAGE', 2113, (made) =>
      made.withEnvironment({ EVENTSTORE_INSECURE: 'true', EVENTSTORE_CLUSTER_SIZE: '1' }),
    );
    const postgres = await start('POSTGRES_IMAGE', 5432, (made) =>
      made
        .withEnvironment({ POSTGRES_PASSWORD: password })
        .withCommand(['postgres', '-c', 'max_connections=400'])
        // The image starts the server twice: the first time to make the database.
        .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2)),
    );
    const nats = await start('NATS_IMAGE', 4222, (made) => made.withCommand(['--jetstream']));
    const addresses = {
      EVENTSTORE_URL: `esdb://${eventStore}?tls=false`,
      DATABASE_URL: `postgres://postgres:${password}@${postgres}/postgres`,
      NATS_URL: `nats://${nats}`,
    };
    return { addresses, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
