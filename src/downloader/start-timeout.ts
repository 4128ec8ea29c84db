/**
 * How long a part of the downloader may take to start, in milliseconds: the sandbox, yt-dlp that unpacks itself, the yt-dlp that
 * others are forked from. Only there so that a start ends: a busy machine takes many seconds for what takes one otherwise, and
 * a part that is given up then runs slower or less contained until the next start.
 */
export const startTimeoutMs = 60_000;
