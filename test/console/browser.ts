import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';

export interface Page {
  status: number;
  headers: Readonly<Record<string, string>>;
  setCookies: readonly string[];
  text: string;
}

interface Sent {
  method: string;
  /** As it stands in the request line. */
  path: string;
  headers?: Readonly<Record<string, string | undefined>>;
  body?: string | Buffer;
}

const connections = new Agent({ keepAlive: true, maxSockets: 20 });

/** One request as it stands: fetch would set some header fields by itself, and refuse others. */
export async function send(url: string, { method, path, headers = {}, body }: Sent): Promise<Page> {
  const { hostname, port } = new URL(url);
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  const sent = request({ hostname, port, method, path, headers: { ...given, ...length }, agent: connections });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { 'set-cookie': setCookies = [], ...rest } = response.headers;
  return {
    status: response.statusCode ?? 0,
    headers: rest as Record<string, string>,
    setCookies,
    text: await readText(response),
  };
}

type Fields = Readonly<Record<string, string>>;
/** Undefined leaves one out that a browser would send. */
type HeaderFields = Readonly<Record<string, string | undefined>>;

interface BrowserOptions {
  /** Origin of the console as this browser sees it. Default: the address that is asked. */
  origin?: string;
  /** The client's address, for limits by client: believed, because the service trusts a proxy at this machine. */
  address?: string;
}

/** Each of its own, so that no test uses up the limit of another, also where several processes of tests ask one service. */
const newAddress = () => `10.${String(randomInt(256))}.${String(randomInt(256))}.${String(randomInt(256))}`;

/** Keeps cookies as browsers do, and sends forms with their origin. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly url: string;
  readonly origin: string;
  readonly #address: string;

  constructor(url: string, { origin = url, address = newAddress() }: BrowserOptions = {}) {
    this.url = url;
    this.origin = origin;
    this.#address = address;
  }

  get(path: string, headers: HeaderFields = {}): Promise<Page> {
    return this.#send({ method: 'GET', path, headers });
  }

  /** Sends a form as one of the console's own pages does, with the session's token where there is one. */
  async post(path: string, fields: Fields = {}, headers: HeaderFields = {}): Promise<Page> {
    return await this.send({ method: 'POST', path, fields: { form_token: this.formToken ?? '', ...fields }, headers });
  }

  /** Exactly these fields. */
  send(form: { method: string; path: string; fields: Fields | string; headers?: HeaderFields }): Promise<Page> {
    const { method, path, fields, headers = {} } = form;
    return this.#send({
      method,
      path,
      headers: { origin: this.origin, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  }

  /** Read from a page by `signIn`. */
  formToken: string | undefined;

  /** What stands in the session's cookie, whatever its name. */
  get session(): [name: string, secret: string] | undefined {
    return [...this.cookies].find(([name]) => /reeltally_(?:session|staff)$/.test(name));
  }

  /** Another browser with the same cookies: of somebody who has stolen them. */
  copy(): Browser {
    const copy = new Browser(this.url, { origin: this.origin });
    for (const [name, value] of this.cookies) copy.cookies.set(name, value);
    copy.formToken = this.formToken;
    return copy;
  }

  async #send({ headers = {}, ...sent }: Sent): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await send(this.url, {
      ...sent,
      headers: {
        host: new URL(this.origin).host,
        'x-forwarded-for': this.#address,
        ...(cookie !== '' && { cookie }),
        ...headers,
      },
    });
    for (const each of answer.setCookies) this.#keep(each);
    return answer;
  }

  #keep(setCookie: string): void {
    const [pair = '', ...attributes] = setCookie.split('; ');
    const at = pair.indexOf('=');
    if (attributes.includes('Max-Age=0')) this.cookies.delete(pair.slice(0, at));
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

export const formTokenOf = ({ text }: Page): string | undefined => /name="form_token" value="([^"]+)"/.exec(text)?.[1];

/** The key of a page's form, another one each time that the page is made. */
export const formKeyOf = ({ text }: Page): string => /name="form_key" value="([^"]+)"/.exec(text)?.[1] ?? '';

/** What people read in the main part of a page, with one space between two words. */
export const textOf = ({ text }: Page): string =>
  text
    .slice(text.indexOf('<main'), text.indexOf('</main>'))
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');

/** What people read where an action leads. @throws where it leads nowhere */
export async function follow(browser: Browser, answer: Page): Promise<string> {
  const { location } = answer.headers;
  if (answer.status !== 303 || location === undefined)
    throw new Error(`it was answered with ${String(answer.status)}: ${textOf(answer)}`);
  return textOf(await browser.get(location.split('#')[0] ?? ''));
}
