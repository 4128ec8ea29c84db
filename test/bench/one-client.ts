import { Agent, request } from 'node:http';
import type { Request } from 'autocannon';

export interface Answered {
  /** How long each request took until its whole answer was here, in milliseconds. */
  tookMs: number[];
  /** How long all of them took together. */
  seconds: number;
}

/**
 * Sends one request after the other over a single connection, through Node's own client, which costs less than what it measures.
 *
 * @param requests sent over and over; without any, GET /
 * @throws where one failed or was refused
 */
export async function oneClient(url: string, requests: readonly Request[] = [{}], seconds: number): Promise<Answered> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const tookMs: number[] = [];
  try {
    // Opens the connection.
    await send(url, requests[0] ?? {}, agent);
    const beganMs = performance.now();
    let nowMs = beganMs;
    for (let sent = 1; nowMs - beganMs < seconds * 1000; sent += 1) {
      const startedMs = nowMs;
      await send(url, requests[sent % requests.length] ?? {}, agent);
      nowMs = performance.now();
      tookMs.push(nowMs - startedMs);
    }
    return { tookMs, seconds: (nowMs - beganMs) / 1000 };
  } finally {
    agent.destroy();
  }
}

function send(url: string, { path = '/', method, headers, body }: Request, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers, agent }, (response) => {
      const { statusCode = 0 } = response;
      if (statusCode >= 300) reject(new Error(`${url}${path} answered ${statusCode}`));
      response.on('end', resolve).on('error', reject).resume();
    });
    sent.on('error', reject).end(body);
  });
}
