import { type Html, html } from '../../../documents/html.ts';
import { actorText, exactTime, facts, note, tag } from '../../parts.ts';
import { accountLink, downloadPath, eventAtPath } from '../addresses.ts';
import { viewPage } from '../view.ts';
import { event as eventView, type EventShown } from '../views/event.ts';

/** One event of the log: what it says, who caused it, and what stands around it. */

export const show = viewPage(eventView, {
  title: ({ type }) => type,
  section: 'search',
  keys: ({ before, after }) => [
    ...(before ? [['[', 'event before, in the same stream'] as const] : []),
    ...(after ? [[']', 'event after, in the same stream'] as const] : []),
  ],
  content,
});

function content(event: EventShown): Html {
  const { metadata, chain, token, account_id: account, stream, revision, before, after, cause } = event;
  const { actor } = metadata;
  return html`${event.text !== '' && html`<p class="lead">${event.text}</p>`}
    ${!chain.holds && note('bad', 'Its hash does not follow from it and from the event before it: the log was changed, or this event is not what was stored.')}
    <p class="pages">${neighbour(before, '[', 'Before')} ${neighbour(after, ']', 'After')}</p>
    ${facts([
      [
        'Place',
        html`Event ${revision} of <code>${stream}</code>, at position <code>${event.position}</code> of the log`,
      ],
      ['Time', html`${exactTime(event.time)}, stored ${exactTime(event.stored_at)}`],
      ['By', html`${actorText(actor)}${actor.type === 'staff' && `, ${actor.role}: ${actor.reason}`}`],
      account !== null && ['Account', accountLink(event)],
      token !== null && [
        'Download',
        html`<a href="${downloadPath(token)}#event-${event.id}"><code>${token}</code></a>`,
      ],
      ['Id', html`<code>${event.id}</code>`],
      ['Request', html`<code>${metadata.$correlationId}</code>`],
    ])}
    <h2>Data</h2>
    <pre><code>${JSON.stringify(event.data, null, 2)}</code></pre>
    <h2>Cause and effect</h2>
    ${facts([
      ['Caused by', cause.event ? link(cause.event) : html`the command <code>${cause.id}</code>`],
      ['Has caused', listOf(event.caused)],
      ['In the same request', listOf(event.same_request)],
    ])}
    <p class="soft">
      These are looked for among the events next to it in its stream, of its download and of its request.
    </p>
    <h2>Hash chain</h2>
    ${facts([
      ['Hash before', html`<code>${chain.previous_hash}</code>`],
      [
        'Hash',
        html`<code>${metadata.hash}</code>
          ${chain.holds ? tag('follows from the event before', 'good') : tag('does not follow', 'bad')}`,
      ],
    ])}
    <details>
      <summary>Metadata</summary>
      <pre><code>${JSON.stringify(metadata, null, 2)}</code></pre>
    </details>`;
}

type Place = NonNullable<EventShown['before']>;

const link = (place: Place): Html =>
  html`<a data-row href="${eventAtPath(place)}">${place.type}</a>
    <span class="soft">event ${place.revision} of <code>${place.stream}</code></span>`;

const listOf = (places: readonly Place[]): Html =>
  places.length === 0
    ? html`nothing known here`
    : html`<ul class="plain">
        ${places.map((place) => html`<li>${link(place)}</li>`)}
      </ul>`;

const neighbour = (place: Place | null, key: string, text: string): Html | false =>
  place !== null &&
  html`<span><a data-key="${key}" href="${eventAtPath(place)}">${text}: ${place.type}</a> <kbd>${key}</kbd></span>`;
