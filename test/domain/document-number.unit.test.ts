import { describe, expect, it } from 'vitest';
import { accountOfDocumentNumber, documentNumber } from '../../src/domain/document-number.ts';
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
      expect(accountOfDocumentNumber(number)).toBe(accountId);
      expect(accountOfDocumentNumber(` ${number.toLowerCase()} `)).toBe(accountId);
    }
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

  it.each(['acc_aaaaaaaaaaaaaaaa', 'rtk_5Yp2QmXa', 'INV-12', 'INV--1', 'XX-AAAA-1', 'XINV-AAAA-1', 'INV-AAAA-1X', ''])(
    'is not %j',
    (text) => {
      expect(accountOfDocumentNumber(text)).toBeUndefined();
    },
  );
});
