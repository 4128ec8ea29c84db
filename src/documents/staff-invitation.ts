import type { StaffRole } from '../domain/staff-events.ts';

/** The mail to somebody who was made a member of staff, with the link that signs in. */
export const staffInvitation = (role: StaffRole, link: string) => ({
  subject: 'You are invited to the staff console of Reeltally',
  text: [
    'You were made a member of the staff of Reeltally,',
    `in the role ${role}.`,
    'This link signs you in. It works once, within a day:',
    '',
    link,
    '',
    'Later, ask for another link where this one has led you.',
    'If you do not expect this mail, do not open the link,',
    'and tell the people who run the service.',
    '',
  ].join('\n'),
});
