#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Reading and compiling the sources is most of what a short command takes. The cache lies in the project's own folder: in the
// folder for temporary files, which Node would take, anybody on the machine could lay code for us. Unwritable, it is left out.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/reeltally', import.meta.url)));
await import('./cli.ts');
