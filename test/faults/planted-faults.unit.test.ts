import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { applyEdit } from '../simulation/module-hooks.ts';
import { root } from '../tidy/source-files.ts';
import { plantedFaults } from './planted-faults.ts';

it.each(plantedFaults)('the source has what the fault "$name" changes', ({ edit }) => {
  expect(applyEdit(readFileSync(join(root, edit.file), 'utf8'), edit)).toContain(edit.by);
});
