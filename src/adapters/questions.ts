import type { Msg, NatsConnection, Subscription } from 'nats';

const queueGroup = 'workers';

/** The worker's side of request-reply: each question on a subject goes to one of the workers, and is answered with JSON. */
export function answerQuestions(
  connection: NatsConnection,
  subject: string,
  answer: (question: unknown) => Promise<unknown>,
): Subscription {
  const reply = async (message: Msg): Promise<void> => {
    message.respond(JSON.stringify(await answer(message.json())));
  };
  return connection.subscribe(subject, {
    queue: queueGroup,
    callback: (error, message) => {
      // A question that cannot be read, or answered, is left to the asker's time limit.
      if (!error) reply(message).catch(() => undefined);
    },
  });
}
