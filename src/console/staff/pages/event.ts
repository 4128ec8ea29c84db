import { type Html, html } from '../../../documents/html.ts';
import { actorText, exactTime, note } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, downloadPath, eventAtPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import { event as eventView, type EventShown } from '../views/event.ts';

/** One event of the log: what it says, who caused it, and what stands around it. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const event = await see(eventView, viewerOf(visit), dependencies, inputOf(visit));
  return page({
    title: event.type,
    section: 'search',
    keys: [
      ...(event.before ? [['[', 'event before, in the same stream'] as const] : []),
      ...(event.after ? [[']', 'event after, in the same stream'] as const] : []),
    ],
    content: content(event),
  });
}

function content(event: EventShown): Html {
  const { metadata, chain, token, account_id: account, stream, revision, before, after, cause } = event;
  const { actor } = metadata;
  return html`${event.text !== '' && html`<p class="lead">${event.text}</p>`}
    ${!chain.holds && note('bad', 'Its hash does not follow from it and from the event before it: the log was changed, or this event is not what was stored.')}
    <p class="pages">${neighbour(before, '[', 'Before')} ${neighbour(after, ']', 'After')}</p>
    <dl class="facts">
      <dt>Place</dt>
      <dd>Event ${revision} of <code>${stream}</code>, at position <code>${event.position}</code> of the log</dd>
      <dt>Time</dt>
      <dd>${exactTime(event.time)}, stored ${exactTime(event.stored_at)}</dd>
      <dt>By</dt>
      <dd>${actorText(actor)}${actor.type === 'staff' && `, ${actor.role}: ${actor.reason}`}</dd>
      ${
        account !== null &&
        html`<dt>Account</dt>
          <dd>${accountLink(account)}</dd>`
      }
      ${
        token !== null &&
        html`<dt>Download</dt>
          <dd>
            <a href="${downloadPath(token)}#event-${event.id}"><code>${token}</code></a>
          </dd>`
      }
      <dt>Id</dt>
      <dd><code>${event.id}</code></dd>
      <dt>Request</dt>
      <dd><code>${metadata.$correlationId}</code></dd>
    </dl>
    <h2>Data</h2>
    <pre><code>${JSON.stringify(event.data, null, 2)}</code></pre>
    <h2>Cause and effect</h2>
    <dl class="facts">
      <dt>Caused by</dt>
      <dd>${cause.event ? link(cause.event) : html`the command <code>${cause.id}</code>`}</dd>
      <dt>Has caused</dt>
      <dd>${listOf(event.caused)}</dd>
      <dt>In the same request</dt>
      <dd>${listOf(event.same_request)}</dd>
    </dl>
    <p class="soft">
      These are looked for among the events next to it in its stream, of its download and of its request.
    </p>
    <h2>Hash chain</h2>
    <dl class="facts">
      <dt>Hash before</dt>
      <dd><code>${chain.previous_hash}</code></dd>
      <dt>Hash</dt>
      <dd>
        <code>${metadata.hash}</code>
        ${chain.holds ? html`<span class="tag good">follows from the event before</span>` : html`<span class="tag bad">does not follow</span>`}
      </dd>
    </dl>
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
