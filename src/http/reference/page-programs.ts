import type { Listing } from './page-requests.ts';

/** The programs of the page that take more than one request. */

/** Queues a download, waits for its end, and saves the file. @param apiUrl with its prefix */
export const quickStartListing = (apiUrl: string, videoUrl: string): Listing => ({
  curl: `# 1. Queue it.
export TOKEN=$(curl -sS "${apiUrl}/video/download" \\
  -H "Authorization: Bearer $REELTALLY_KEY" -H 'Content-Type: application/json' \\
  -d '{"url":"${videoUrl}","quality":"720"}' | sed -n 's/.*"request_token":"\\([^"]*\\)".*/\\1/p')
# 2. Wait for its end; again, while status is neither done nor failed.
STATUS=$(curl -sS "${apiUrl}/video/status?token=$TOKEN" \\
  -H "Authorization: Bearer $REELTALLY_KEY" -H 'Prefer: wait=60, until=ended')
echo "$STATUS"
# 3. Fetch the file.
curl -sS --fail -o video.mp4 "$(echo "$STATUS" | sed -n 's/.*"download_url":"\\([^"]*\\)".*/\\1/p')"`,
  typescript: `import { writeFile } from 'node:fs/promises';

async function send(path: string, more: RequestInit = {}) {
  const headers = { Authorization: \`Bearer \${process.env.REELTALLY_KEY}\`, ...more.headers };
  const response = await fetch('${apiUrl}' + path, { ...more, headers });
  const { data, error } = await response.json();
  if (error) throw new Error(\`\${error.message} (\${error.code})\`);
  return data;
}

// 1. Queue it.
const queued = await send('/video/download', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ url: '${videoUrl}', quality: '720' }),
});
// 2. Wait for its end.
let ended;
do {
  ended = await send(\`/video/status?token=\${queued.request_token}\`, { headers: { Prefer: 'wait=60, until=ended' } });
} while (ended.status !== 'done' && ended.status !== 'failed');
console.log(JSON.stringify(ended, null, 2));
// 3. Fetch the file.
if (ended.status === 'done') {
  const file = await fetch(ended.download_url);
  if (file.ok) await writeFile('video.mp4', Buffer.from(await file.arrayBuffer()));
}`,
  python: `import json, os, urllib.request

def send(path, body=None, **headers):
    headers["Authorization"] = "Bearer " + os.environ["REELTALLY_KEY"]
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body).encode()
    request = urllib.request.Request("${apiUrl}" + path, body, headers)
    with urllib.request.urlopen(request, timeout=90) as response:
        return json.load(response)["data"]

# 1. Queue it.
queued = send("/video/download", {"url": "${videoUrl}", "quality": "720"})
# 2. Wait for its end.
while True:
    ended = send("/video/status?token=" + queued["request_token"], Prefer="wait=60, until=ended")
    if ended["status"] in ("done", "failed"):
        break
print(json.dumps(ended, indent=2))
# 3. Fetch the file.
if ended["status"] == "done":
    urllib.request.urlretrieve(ended["download_url"], "video.mp4")`,
});

/** A download that is queued so that it is neither lost nor paid for twice. */
export const retriedListing = (apiUrl: string, videoUrl: string): Listing => ({
  curl: `curl -sS --retry 5 --retry-connrefused "${apiUrl}/video/download" \\
  -H "Authorization: Bearer $REELTALLY_KEY" -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: order-1844' -d '{"url":"${videoUrl}","quality":"720"}'`,
  typescript: `async function queueDownload() {
  return await fetch('${apiUrl}/video/download', {
    method: 'POST',
    headers: {
      Authorization: \`Bearer \${process.env.REELTALLY_KEY}\`,
      'Content-Type': 'application/json',
      'Idempotency-Key': 'order-1844',
    },
    body: JSON.stringify({ url: '${videoUrl}', quality: '720' }),
  });
}

let response;
for (let attempt = 1; attempt <= 6; attempt += 1) {
  response = await queueDownload().catch(() => undefined);
  if (response && ![429, 500, 502, 503].includes(response.status)) break;
  const seconds = Number(response?.headers.get('Retry-After') ?? attempt * 2);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
console.log(response ? JSON.stringify(await response.json(), null, 2) : 'no answer');`,
  python: `import json, os, time, urllib.error, urllib.request

request = urllib.request.Request(
    "${apiUrl}/video/download",
    data=json.dumps({"url": "${videoUrl}", "quality": "720"}).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["REELTALLY_KEY"],
        "Content-Type": "application/json",
        "Idempotency-Key": "order-1844",
    },
)
for attempt in range(1, 7):
    wait_seconds = attempt * 2
    try:
        with urllib.request.urlopen(request, timeout=90) as response:
            print(json.dumps(json.load(response), indent=2))
        break
    except urllib.error.HTTPError as error:
        if error.code not in (429, 500, 502, 503):
            raise
        wait_seconds = int(error.headers.get("Retry-After") or wait_seconds)
    except OSError:
        pass  # no connection, or one that broke before the answer
    time.sleep(wait_seconds)`,
});
