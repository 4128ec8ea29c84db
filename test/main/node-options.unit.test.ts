import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cliCommand } from '../support/service.ts';
import { root } from '../tidy/source-files.ts';

const text = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };

/** The options of Node.js in a command that starts the service, as words or as an array of JSON. */
const optionsIn = (command = '') => command.match(/(?<=[" ])--(?:disable-warning|max-semi-space-size)=\w+/g);

it('the service is started with the same options of Node.js everywhere', () => {
  const starts = {
    'npm start': scripts['start'],
    'npm run reeltally': scripts['reeltally'],
    'the program': text('src/main/reeltally.js').split('\n')[0],
    'the image': /^ENTRYPOINT .*$/m.exec(text('deploy/Dockerfile'))?.[0],
    'the tests': cliCommand.join(' '),
  };
  const expected = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=16'];
  for (const [name, command] of Object.entries(starts)) expect(optionsIn(command), name).toEqual(expected);
});
