/** A setting or a part that is missing or wrong; the message tells what to do. */
export class ConfigurationRefused extends Error {
  override readonly name = 'ConfigurationRefused';
}
