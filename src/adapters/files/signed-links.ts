import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { FileKey } from '../../ports/files.ts';
import { isFileName, isToken, keyPath } from './file-key.ts';

export interface SigningKey {
  /** Contained in every link, so that links outlive a change of the key. */
  id: string;
  /** A KeyObject rather than bytes: signing with it is eight times as fast. */
  key: KeyObject;
}

export interface LinkOptions {
  /** The part of links before `/files/`, without a slash at its end. */
  downloadBaseUrl: () => string;
  signingKeys: { current: SigningKey; others: readonly SigningKey[] };
  /** Differs at every call, so that every link is different. */
  nonce: () => string;
}

const signatureVersion = 'v1';
const pathPattern = /^\/files\/([A-Za-z0-9_-]{1,200})\/(0|[1-9]\d{0,14})\/([a-z0-9._-]{1,110})$/;
const parameterNames = ['download', 'key', 'expires', 'nonce', 'signature'] as const;

/** The signed text: one line per part, since no encoded part contains a line break. */
function sign(key: KeyObject, path: string, query: Readonly<Record<string, string>>): string {
  const signed = parameterNames.slice(0, -1).map((name) => `${name}=${encodeURIComponent(query[name] ?? '')}`);
  return createHmac('sha256', key)
    .update([signatureVersion, 'GET', path, ...signed].join('\n'))
    .digest('base64url');
}

/** The link's parameters, if it has each of them once and no others. */
function readQuery(query: string): Record<(typeof parameterNames)[number], string> | undefined {
  const parameters = new URLSearchParams(query);
  if (parameters.size !== parameterNames.length) return undefined;
  const values = parameterNames.map((name) => parameters.get(name));
  const [download, key, expires, nonce, signature] = values;
  if (!download || !key || !expires || !nonce || !signature) return undefined;
  return { download, key, expires, nonce, signature };
}

/** Signs the links to finished files that this service serves itself, and verifies them. */
export function createSignedLinks({ downloadBaseUrl, signingKeys: { current, others }, nonce }: LinkOptions) {
  const keys = new Map([...others, current].map(({ id, key }) => [id, key]));
  return {
    link(key: FileKey, { expiresAtSeconds, downloadName }: { expiresAtSeconds: number; downloadName: string }): string {
      const path = `/files/${keyPath(key)}`;
      const expires = String(expiresAtSeconds);
      const query = { download: downloadName.toWellFormed(), key: current.id, expires, nonce: nonce() };
      const signature = sign(current.key, path, query);
      return `${downloadBaseUrl()}${path}?${new URLSearchParams({ ...query, signature }).toString()}`;
    },
    /** @returns the content of a genuine link. The signature is verified first: nothing in the URL is trusted before. */
    read(url: string) {
      const [path = '', query = '', ...rest] = url.split('?');
      const parameters = readQuery(query);
      const key = parameters === undefined ? undefined : keys.get(parameters.key);
      if (parameters === undefined || key === undefined || rest.length > 0) return undefined;
      // As they are spelled: base64 can spell the same bytes in several ways, and only ours is a link that we issued.
      const [expected, given] = [Buffer.from(sign(key, path, parameters)), Buffer.from(parameters.signature)];
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
      const [, token = '', revision = '', name = ''] = pathPattern.exec(path) ?? [];
      if (!isToken(token) || !isFileName(name)) return undefined;
      const { download: downloadName, expires, signature } = parameters;
      const file: FileKey = { token, claimRevision: Number(revision), name };
      return { file, downloadName, expiresSeconds: Number(expires), signature };
    },
  };
}
