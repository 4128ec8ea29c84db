import { expect, it } from 'vitest';
import { isRefused, refusals, refuse } from '../../src/domain/refusals.ts';

it('a refusal is told from an answer', () => {
  for (const name of refusals) expect(isRefused(refuse(name))).toBe(true);
  expect(isRefused([])).toBe(false);
  expect(isRefused({ state: {} })).toBe(false);
});
