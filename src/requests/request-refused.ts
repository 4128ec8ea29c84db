/** A request that no listener takes, whatever it asks for: answered 400 in the form of what it is addressed to. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly statusCode = 400;
}
