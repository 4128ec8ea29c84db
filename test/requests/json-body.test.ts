import { expect, it } from 'vitest';
import { readJsonBody } from '../../src/requests/json-body.ts';

const read = (text: string | Buffer, mediaType = 'application/json') => readJsonBody(Buffer.from(text), mediaType);

it('is a value of few levels', () => {
  expect(read('{"a":[1]}')).toEqual({ a: [1] });
  expect(read('')).toBeUndefined();
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  expect(() => read(nested(32))).not.toThrow();
  for (const levels of [34, 8_000]) expect(() => read(nested(levels))).toThrow('nested too deeply');
  expect(() => read(`${'{"a":'.repeat(2_500)}1${'}'.repeat(2_500)}`)).toThrow('nested too deeply');
});

it.each(['{', 'nul', '\ufeff', '{"a":1}}', Buffer.from([0x22, 0xff, 0x22])])('is not %j', (text) => {
  expect(() => read(text)).toThrow('not valid JSON');
});

it('is named JSON', () => {
  expect(() => read('{}', 'text/plain')).toThrow('application/json');
  expect(read('{}', ' Application/JSON ; charset=utf-8')).toEqual({});
});
