/**
 * A stream of server-sent events, for as long as its page is seen. A browser opens six connections to one host, so that the streams
 * of many tabs would leave none for a click: a hidden tab lets go of its own. Of pages that are seen at once, in windows side by
 * side, four have one, and another page has to wait until one of these is left.
 */
const againMs = 10_000;
const places = ['live 1', 'live 2', 'live 3', 'live 4'];

interface Followed {
  /** @param lastId of the newest event that this page has got; empty before the first */
  addressAfter: (lastId: string) => string;
  /** What each kind of event does with its data. */
  on: Readonly<Record<string, (data: unknown) => void>>;
  /** The server has nothing more to tell. A browser would ask again for ever. */
  onEnd?: () => void;
}

export function followWhileSeen({ addressAfter, on, onEnd }: Followed): void {
  let lastId = '';
  let hasEnded = false;
  let seen: AbortController | undefined;

  const stream = (seenNow: AbortSignal) =>
    new Promise<void>((leave) => {
      const source = new EventSource(addressAfter(lastId));
      const close = () => {
        source.close();
        leave();
      };
      seenNow.addEventListener('abort', close, { once: true });
      for (const [name, act] of Object.entries(on))
        source.addEventListener(name, ({ data, lastEventId }: MessageEvent<string>) => {
          // A new stream has none before its first one that has.
          if (lastEventId !== '') lastId = lastEventId;
          act(JSON.parse(data));
        });
      source.addEventListener('end', () => {
        hasEnded = true;
        close();
        onEnd?.();
      });
      // The browser gives it up for good where the answer is no stream: the place is another page's until the next try.
      source.addEventListener('error', () => {
        if (source.readyState !== EventSource.CLOSED || seenNow.aborted) return;
        close();
        setTimeout(() => {
          if (!seenNow.aborted) inOnePlace(seenNow, stream);
        }, againMs);
      });
    });

  const look = () => {
    const isSeen = document.visibilityState === 'visible' && !hasEnded;
    if (isSeen && !seen) {
      seen = new AbortController();
      inOnePlace(seen.signal, stream);
    } else if (!isSeen) {
      seen?.abort();
      seen = undefined;
    }
  };
  document.addEventListener('visibilitychange', look);
  look();
}

/** Waits for one of the places of this browser, and keeps it while `use` goes on. */
function inOnePlace(seen: AbortSignal, use: (seen: AbortSignal) => Promise<void>): void {
  // Browsers have locks where the connection is safe: over plain http, each page has a stream of its own.
  if (!('locks' in navigator)) {
    void use(seen);
    return;
  }
  const found = new AbortController();
  const signal = AbortSignal.any([seen, found.signal]);
  const inPlace = async () => {
    // Another one, or the end, came at the same moment.
    if (signal.aborted) return;
    found.abort();
    await use(seen);
  };
  for (const place of places) navigator.locks.request(place, { signal }, inPlace).catch(() => undefined);
}
