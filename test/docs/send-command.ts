/** Stands in for the command line: a process that has it loaded runs the command, with the variables of this one. */

import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Ran } from '../support/command-process.ts';

const [socket = '', ...words] = process.argv.slice(2);
const connection = connect(socket);
connection.end(JSON.stringify({ words, environment: process.env }));
const { code, stdout, stderr } = JSON.parse(await text(connection)) as Ran;
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code ?? 1;
