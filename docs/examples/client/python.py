#!/usr/bin/env python3
"""Downloads a video with nothing but the standard library of Python 3.9 or newer:

    REELTALLY_URL=https://api.example.com REELTALLY_KEY=rtk_… python3 python.py [--check] VIDEO_URL FILE [IDEMPOTENCY_KEY]

The same IDEMPOTENCY_KEY, such as the number of your order, is charged once, however often the program is run. --check asks for
the metadata first, and queues nothing if the service knows that the download would fail. A download takes one request of the
key's hourly limit, and the check another.
"""

import http.client
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

ATTEMPTS = 6
LONGEST_PAUSE_SECONDS = 60


class Refused(Exception):
    """The API has answered with an error that no repetition mends in time."""

    def __init__(self, code, message, retryable=True):
        super().__init__(f"{message} ({code})")
        self.code = code
        self.retryable = retryable


def call(path, body=None, **headers):
    """Sends a request to the API, again where that makes sense. Returns data and headers of the answer."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    headers["Authorization"] = f"Bearer {os.environ['REELTALLY_KEY']}"
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body).encode()
    for attempt in range(1, ATTEMPTS + 1):
        request = urllib.request.Request(f"{os.environ['REELTALLY_URL']}/api/v1{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=90) as response:
                return json.load(response)["data"], response.headers
        except urllib.error.HTTPError as answer:
            refusal = refusal_of(answer)
            # A 429 says when the oldest request leaves the hourly window, which may be an hour away.
            pause_seconds = int(answer.headers.get("Retry-After") or attempt * 2)
            passes = answer.code in (429, 500, 502, 503) and refusal.code != "delivery_failed" and refusal.retryable
            if not passes or pause_seconds > LONGEST_PAUSE_SECONDS or attempt == ATTEMPTS:
                raise refusal from None
        except (OSError, http.client.HTTPException) as failure:
            # No connection, or one that broke before the answer: whether the request arrived is unknown.
            if attempt == ATTEMPTS:
                raise Refused("unreachable", f"the API does not answer: {failure}") from None
            pause_seconds = attempt * 2
        time.sleep(pause_seconds)


def refusal_of(answer):
    try:
        error = json.load(answer)["error"]
        # A platform that gives no metadata of a video says whether it would do so later.
        return Refused(error["code"], error["message"], error.get("retryable", True))
    except (ValueError, KeyError):
        return Refused("unexpected_answer", f"the answer is not one of the API, with status {answer.code}")


def wait_for(token):
    """Each poll is answered when the download has ended, or after a minute; without Preference-Applied the pauses grow."""
    pause_seconds = 1
    while True:
        status, headers = call(f"/video/status?token={token}", Prefer="wait=60, until=ended")
        if status["status"] in ("done", "failed"):
            return status
        if "Preference-Applied" not in headers:
            time.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, 30)


def check(video):
    """Costs one metadata credit."""
    metadata, _ = call("/video/metadata?" + urllib.parse.urlencode({"url": video}))
    print(f"title: {metadata['title']}")
    if not metadata["download"]["possible"]:
        raise Refused(metadata["download"]["reason"], "the video cannot be downloaded, and nothing was queued")


def download(video, file, idempotency_key):
    # Costs one download credit, or the overage price. 202 means that it is recorded and charged; with the same key, once.
    wanted = {"url": video, "quality": "360"}
    queued, headers = call("/video/download", wanted, Idempotency_Key=idempotency_key)
    token = queued["request_token"]
    print(f"queued: {token}, credits left: {headers['X-Credits-Remaining']}")

    ended = wait_for(token)
    if ended["status"] == "failed":
        raise Refused(ended["error"], f"{ended['message']}, token {token}")

    # The link is signed and needs no key; it is valid for an hour, and each poll makes another one. An error is an exception
    # here, and never saved as the film; nor is half of it, because the file gets its name once it is whole.
    part = f"{file}.part"
    try:
        with urllib.request.urlopen(ended["download_url"], timeout=90) as response, open(part, "wb") as target:
            shutil.copyfileobj(response, target)
    except urllib.error.URLError as error:
        raise Refused("transfer_failed", f"the file was not fetched ({error.reason}), token {token}") from error
    if os.path.getsize(part) != ended["file_size_bytes"]:
        os.remove(part)
        raise Refused("transfer_failed", f"the file is not whole, token {token}")
    os.replace(part, file)
    print(f"saved: {file}")


def main():
    checks = sys.argv[1:2] == ["--check"]
    words = sys.argv[2:] if checks else sys.argv[1:]
    if len(words) < 2 or not os.environ.get("REELTALLY_URL") or not os.environ.get("REELTALLY_KEY"):
        print("usage: REELTALLY_URL=… REELTALLY_KEY=… python.py [--check] VIDEO_URL FILE [IDEMPOTENCY_KEY]", file=sys.stderr)
        return 2
    video, file, *more = words
    try:
        if checks:
            check(video)
        download(video, file, more[0] if more else str(uuid.uuid4()))
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        if refusal.code in ("download_quota_exceeded", "overage_cap_reached"):
            print("Nothing was charged. Try again when the next period begins.", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
