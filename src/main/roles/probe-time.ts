/** How long the API waits for a worker's answer about a video. */
export const probeTimeoutMs = 20_000;
