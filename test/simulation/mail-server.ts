import { sleep } from '../../src/async/sleep.ts';
import { type Mail, MailNotTaken } from '../../src/ports/billing.ts';
import type { Network } from './event-log-client.ts';
import type { SimulatedProcess } from './process.ts';

export interface TakenMail extends Pick<Mail, 'id' | 'to'> {
  takenMs: number;
  /** The process that sent it. */
  by: Pick<SimulatedProcess, 'wasDisturbed'>;
  /** That process was told that it is taken. */
  isTold: boolean;
  /** Postgres had noted already that it was taken. */
  wasNoted: boolean;
}

export const messageIdOf = (mailId: string): string => `<${mailId}@mail.example>`;

/** The mail server: it may be away, refuse a mail, or take one and break off before it says so. */
export class MailServer {
  readonly taken: TakenMail[] = [];
  readonly #network: Pick<Network, 'happens' | 'delayMs'>;

  constructor(network: Pick<Network, 'happens' | 'delayMs'>) {
    this.#network = network;
  }

  async take({ id, to }: Mail, by: SimulatedProcess, isNoted: () => boolean): Promise<void> {
    const { happens, delayMs } = this.#network;
    await sleep(happens('mail_late') ? delayMs(100, 15_000) : delayMs(0, 20));
    if (happens('mail_refused')) throw new MailNotTaken('refused', 'simulated');
    if (happens('mail_server_away')) throw new MailNotTaken('away', 'simulated');
    const taken = { id, to, takenMs: performance.now(), by, isTold: false, wasNoted: isNoted() };
    this.taken.push(taken);
    if (happens('mail_answer_lost')) throw new MailNotTaken('away', 'simulated');
    taken.isTold = true;
  }
}
