/** What Node alone can do: a file through its own streams. The argument is the file. */
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const path = process.argv[2] ?? '';
const { size } = statSync(path);
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': size });
  createReadStream(path).pipe(response);
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});
