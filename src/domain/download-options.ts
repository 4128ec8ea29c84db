/** What a client may ask a download to be (contract §4.2). */
export const formats = ['video', 'audio'] as const;
export type Format = (typeof formats)[number];

/** `best`, or the wanted length of the smaller side in pixels. */
export const qualities = ['best', '2160', '1440', '1080', '720', '480', '360'] as const;
export type Quality = (typeof qualities)[number];

export const defaultFormat: Format = 'video';
export const defaultQuality: Quality = 'best';

/** What stands behind an address: one film (or sound), or a post of stills. */
export type ItemKind = 'video' | 'images';
