import { type Html, html } from '../../documents/html.ts';
import { note } from '../parts.ts';

/** Above the pages whose work a suspended account cannot do. */
export const suspendedNote = (): Html =>
  note(
    'warn',
    html`This account is suspended: its keys are refused, and nothing is charged; a billing period that begins meanwhile
    has no fee. Downloads that were queued go on. Ask the support of this service why, and what lifts it.`,
  );
