/** The mail to somebody who may see and change an account from now on. It holds no way in: the page that it names mails one. */
export const invitationMail = (accountId: string, publicUrl: string) => ({
  subject: 'You are invited to an account of Reeltally',
  text: [
    `You may see and change the account ${accountId}:`,
    'its downloads, keys, plan and invoices.',
    '',
    'To sign in, open',
    `${publicUrl}/console/sign-in`,
    'and give the address to which this mail was sent.',
    'A link comes by mail.',
    '',
    'If you do not expect this mail, do nothing.',
    '',
  ].join('\n'),
});
