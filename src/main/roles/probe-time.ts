/** How long the API waits for a worker's answer about a video. */
export const probeTimeoutMs = 20_000;

/** How long it waits for what a short link stands for: well below what a request to download may take. */
export const shortLinkTimeoutMs = 5_000;
