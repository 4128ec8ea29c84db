#!/usr/bin/env -S node --disable-warning=ExperimentalWarning --max-semi-space-size=16
import module from 'node:module';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';
import v8 from 'node:v8';
import { requirePackages } from './installed.js';

/**
 * Variables that a library would read behind our back: of a shell, for programs that are not ours. The service talks to its servers
 * as its own settings say, and to nothing else. The proxies of grpc, and its roots and ciphers, are read by it alone; Node reads
 * NODE_USE_ENV_PROXY, with HTTPS_PROXY and NO_PROXY, before this.
 */
const readByLibraries = /^(?:GRPC_\w+|(?:no_)?grpc_proxy|https?_proxy|no_proxy|all_proxy|PG[A-Z]+)$/;

// On a machine with much memory, the heap would grow to four times of what is in use before it is collected. V8 reads this at each
// collection. It is set before the cache of compiled code is opened: code that was compiled under other options is refused. The size
// of the young generation is an option of the commands that start this file (docs/performance.md).
v8.setFlagsFromString('--heap-growing-percent=50');
requirePackages('dependencies');
for (const name of Object.keys(process.env)) if (readByLibraries.test(name)) delete process.env[name];
// Reading and compiling the sources is most of what a short command takes. The cache lies in the project's own folder: in the
// folder for temporary files, which Node would take, anybody on the machine could lay code for us. Unwritable, it is left out.
module.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/reeltally', import.meta.url)));
await import('./cli.ts');
