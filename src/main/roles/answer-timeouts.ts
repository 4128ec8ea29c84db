/** How long the API waits for a worker's answer about a video. */
export const metadataTimeoutMs = 20_000;

/** How long it waits for the target of a short link: well below the limit of a request to download. */
export const shortLinkTimeoutMs = 5_000;
