import { describe, expect, it } from 'vitest';
import { documentNumber, readDocumentNumber } from '../../src/domain/document-number.ts';
import { newId } from '../../src/system/clock-and-chance.ts';

describe('the number of a document', () => {
  it('is its kind, the whole id of the account, and its number there', () => {
    const of = { account_id: 'acc_7h2k9m4p1q8s5t3vx2', number: 12 };
    expect(documentNumber('invoice', of)).toBe('INV-7H2K-9M4P-1Q8S-5T3V-X2-12');
    expect(documentNumber('credit_note', of)).toBe('CN-7H2K-9M4P-1Q8S-5T3V-X2-12');
  });

  it('leads back to the account, in capital letters or small ones', () => {
    for (const accountId of [newId('acc'), 'acc_aaaaaaaaaaaaaaa1', `acc_${'2'.repeat(32)}`]) {
      const number = documentNumber('invoice', { account_id: accountId, number: 17 });
      const read = { type: 'invoice', accountId, number: 17 };
      expect(readDocumentNumber(number)).toEqual(read);
      expect(readDocumentNumber(` ${number.toLowerCase()} `)).toEqual(read);
    }
  });

  it.each([
    ['INV 7H2K 9M4P 1Q8S 5T3V ABCD 12', 'invoice'],
    ['inv_7h2k_9m4p_1q8s_5t3v_abcd_12', 'invoice'],
    ['inv7h2k9m4p1q8s5t3vabcd12', 'invoice'],
    ['Invoice no. INV-7H2K–9M4P–1Q8S–5T3V–ABCD–12.', 'invoice'],
    ['CN/7h2k/9m4p/1q8s/5t3v/abcd/12', 'credit_note'],
    ['7H2K-9M4P-1Q8S-5T3V-ABCD-12', undefined],
    ['7h2k 9m4p 1q8s 5t3v abcd 12', undefined],
  ])('is read as people spell it: %s', (text, type) => {
    expect(readDocumentNumber(text)).toEqual({ type, accountId: 'acc_7h2k9m4p1q8s5t3vabcd', number: 12 });
  });

  it('differs where account, kind or number differ, however alike they look', () => {
    const accounts = [
      'acc_aaaaaaaaaaaaaaaa',
      'acc_aaaaaaaaaaaaaaaa1',
      'acc_aaaaaaaaaaaaaaaa11',
      'acc_1aaaaaaaaaaaaaaaa',
    ];
    const numbers = (['invoice', 'credit_note'] as const).flatMap((type) =>
      accounts.flatMap((account_id) => [1, 11, 111].map((number) => documentNumber(type, { account_id, number }))),
    );
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it.each([
    ...['acc_aaaaaaaaaaaaaaaa', 'rtk_5Yp2QmXa', 'INV-12', 'INV--1', 'XX-AAAA-1', 'INV-AAAA-1', ''],
    ...[`XINV-${'AAAA-'.repeat(5)}1`, `INV-${'AAAA-'.repeat(5)}1X`, `INV-${'AAAA-'.repeat(5)}${'9'.repeat(10)}`],
  ])('is not %j', (text) => {
    expect(readDocumentNumber(text)).toBeUndefined();
  });
});
