import { describe, expect, it } from 'vitest';
import {
  decideDocumentMail,
  decideMailsAgain,
  type DocumentMails,
  evolveDocumentMails,
  initialDocumentMails,
} from '../../src/domain/document-mails.ts';
import type { InvoiceEvent } from '../../src/domain/invoice-events.ts';
import type { People } from '../../src/domain/people.ts';

const accountId = 'acc_aaaaaaaaaaaaaaaaaaaa';
const [ada, bob, eve] = ['per_ada', 'per_bob', 'per_eve'];
const people: People = new Map(
  [ada, bob, eve].map((personId) => {
    const email = `${personId}@example.com`;
    return [personId, { personId, email, since: '', removed: personId === eve, hasSignedIn: false }];
  }),
);

const note = (mail_to?: readonly string[]): InvoiceEvent => ({
  type: 'CreditNoteIssued',
  data: {
    number: 1,
    account_id: accountId,
    reference: 'CASE-1',
    invoice_number: 1,
    line: 1,
    charges: [],
    currency: 'USD',
    cents: 1,
    ...(mail_to && { mail_to: [...mail_to] }),
  },
});
const asked = (documentRevision: number, mail_to: readonly string[]): InvoiceEvent => ({
  type: 'DocumentMailAsked',
  data: {
    account_id: accountId,
    document_event_id: `event ${documentRevision}`,
    document_revision: documentRevision,
    mail_to: [...mail_to],
  },
});
const mailed = (namingRevision: number, person_id: string, message_id: string | null = '<a>'): InvoiceEvent => ({
  type: 'DocumentMailed',
  data: { account_id: accountId, document_event_id: `event ${namingRevision}`, person_id, message_id },
});

const given = (...events: InvoiceEvent[]): DocumentMails =>
  events.reduce(
    (state, event, revision) => evolveDocumentMails(state, event, { id: `event ${revision}`, revision }),
    initialDocumentMails,
  );

const again = (state: DocumentMails, documentId: string, ...mailTo: string[]) =>
  decideMailsAgain(state, { accountId, documentId, mailTo, eventId: 'event new', people });

describe('a mail about a document that is asked for again', () => {
  it('names the document by its event and revision', () => {
    const state = given(note([ada]), mailed(0, ada), note());
    expect(again(state, 'event 0', ada, bob)).toEqual([asked(0, [ada, bob])]);
    expect(again(state, 'event 2', bob)).toEqual([asked(2, [bob])]);
  });

  it('is asked for once by a command, also behind its mail', () => {
    const state = given(note([]), asked(0, [ada]));
    const command = { accountId, documentId: 'event 0', mailTo: [ada], eventId: 'event 1', people };
    expect(decideMailsAgain(state, command)).toEqual([]);
    expect(decideMailsAgain(given(note([]), asked(0, [ada]), mailed(1, ada)), command)).toEqual([]);
  });

  it('is about a document, to people who are there, of whom nobody waits for one about it', () => {
    const state = given(note([ada]), note([]), asked(1, [bob]));
    expect(again(state, 'event 7', ada)).toEqual({ refusal: 'invoice_not_found' });
    expect(again(state, 'event 2', ada)).toEqual({ refusal: 'invoice_not_found' });
    for (const nobody of [[], [eve], [ada, 'per_unknown']])
      expect(again(state, 'event 1', ...nobody)).toEqual({ refusal: 'person_not_found' });
    expect(again(state, 'event 0', bob, ada)).toEqual({ refusal: 'mail_waits' });
    expect(again(state, 'event 1', bob)).toEqual({ refusal: 'mail_waits' });
    expect(again(state, 'event 1', ada)).toEqual([asked(1, [ada])]);
  });

  it('is recorded once, for the event that asks', () => {
    const mail = { accountId, namingId: 'event 2', personId: ada, messageId: '<b>' };
    const waiting = given(note([ada]), mailed(0, ada), asked(0, [ada, bob]));
    expect(decideDocumentMail(waiting, mail)).toEqual([mailed(2, ada, '<b>')]);
    const done = given(note([ada]), mailed(0, ada), asked(0, [ada, bob]), mailed(2, ada, '<b>'));
    expect(decideDocumentMail(done, mail)).toEqual([]);
    expect(done.get('event 2')?.waiting).toEqual([bob]);
    expect(decideDocumentMail(done, { ...mail, namingId: 'event 7' })).toEqual({ refusal: 'invoice_not_found' });
    expect(given(mailed(0, ada)).size).toBe(0);
  });
});
