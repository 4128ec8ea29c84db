#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
import module from 'node:module';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';
import { removeForeignVariables } from './foreign-variables.js';
import { requirePackages } from './installed.js';

requirePackages('dependencies');
removeForeignVariables(process.env);
// Reading and compiling the sources is most of what a short command takes. The cache lies in the project's own folder: in the
// folder for temporary files, which Node would take, anybody on the machine could lay code for us. Unwritable, it is left out.
module.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/reeltally', import.meta.url)));
await import('./cli.ts');
