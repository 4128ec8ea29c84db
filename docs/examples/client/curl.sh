#!/bin/sh
# Downloads a video with nothing but curl and sed:
#
#   REELTALLY_URL=https://api.example.com REELTALLY_KEY=rtk_… sh curl.sh [--check] VIDEO_URL FILE [IDEMPOTENCY_KEY]
#
# The same IDEMPOTENCY_KEY, such as the number of your order, is charged once, however often the script is run. --check asks for
# the metadata first, and queues nothing if the service knows that the download would fail. A download takes one request of the
# key's hourly limit, and the check another.
set -eu
check=
[ "${1-}" = --check ] && check=yes && shift
[ $# -ge 2 ] && [ -n "${REELTALLY_URL-}" ] && [ -n "${REELTALLY_KEY-}" ] || {
  echo 'usage: REELTALLY_URL=… REELTALLY_KEY=… curl.sh [--check] VIDEO_URL FILE [IDEMPOTENCY_KEY]' >&2
  exit 2
}
video=$1 file=$2
idempotency_key=${3-$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)}
longest_pause_seconds=60

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# In a folder that only this user reads: an argument of curl is seen by every user of the machine.
printf 'Authorization: Bearer %s\n' "$REELTALLY_KEY" >"$work/key"

# A text field of the answer, for answers whose texts have no quotes in them; a program reads JSON with a library.
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$work/body"; }
header() { tr -d '\r' <"$work/head" | grep -i "^$1:" | cut -d ' ' -f 2; }
give_up() {
  echo "$*" >&2
  exit 1
}

# -q: an option in the user's .curlrc, such as fail, would change what this script reads.
fetch() { curl -q -sS "$@"; }

# Sends a request to the API, again where that makes sense; the answer is in $work/body and $work/head.
request() {
  attempt=1
  while :; do
    # Without an answer, such as that of a broken connection, curl prints 000.
    : >"$work/head" >"$work/body"
    status=$(fetch --max-time 90 -H @"$work/key" -o "$work/body" -D "$work/head" -w '%{http_code}' "$@") || :
    code=$(field code)
    case $status:$code in
      2*) return ;;
      502:metadata_unavailable) ! grep -q '"retryable":false' "$work/body" || give_up "$(field message) ($(field reason))" ;;
      502:delivery_failed) give_up 'The file is no longer available: queue a fresh download.' ;;
      000:* | 429:* | 500:* | 502:* | 503:*) ;;
      402:*) give_up "$(field message) ($code): nothing was charged. Try again when the next period begins." ;;
      *) give_up "$(field message) ($code)" ;;
    esac
    # A 429 says when the oldest request leaves the hourly window, which may be an hour away.
    seconds=$(header retry-after)
    : "${seconds:=$((attempt * 2))}"
    if [ "$attempt" -ge 6 ] || [ "$seconds" -gt "$longest_pause_seconds" ]; then
      give_up "$(field message) (${code:-no answer}): try again in $seconds seconds"
    fi
    sleep "$seconds"
    attempt=$((attempt + 1))
  done
}

api=$REELTALLY_URL/api/v1

# Costs one metadata credit.
if [ -n "$check" ]; then
  request -G --data-urlencode "url=$video" "$api/video/metadata"
  echo "title: $(field title)"
  reason=$(field reason)
  [ -z "$reason" ] || give_up "the video cannot be downloaded ($reason): nothing was queued"
fi

# Costs one download credit, or the overage price. 202 means that it is recorded and charged; with the same key, once.
request -H 'Content-Type: application/json' -H "Idempotency-Key: $idempotency_key" \
  -d "{\"url\": \"$video\", \"quality\": \"360\"}" "$api/video/download"
token=$(field request_token)
echo "queued: $token, credits left: $(header x-credits-remaining)"

# The service answers when the download has ended, or after a minute; without Preference-Applied the pauses grow.
pause_seconds=1
while :; do
  request -H 'Prefer: wait=60, until=ended' "$api/video/status?token=$token"
  case $(field status) in
    done) break ;;
    failed) give_up "$(field message) ($(field error)), token $token" ;;
  esac
  [ -n "$(header preference-applied)" ] && continue
  sleep "$pause_seconds"
  pause_seconds=$((pause_seconds < 16 ? pause_seconds * 2 : 30))
done

# The link is signed and needs no key; it is valid for an hour, and each poll makes another one. With --fail, an error is never
# saved as the film; nor is half of it, because the file gets its name once it is whole.
fetch --fail --retry 3 -o "$file.part" "$(field download_url)" || {
  rm -f "$file.part"
  give_up "the file was not fetched, token $token"
}
mv "$file.part" "$file"
echo "saved: $file"
