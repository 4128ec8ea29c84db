/** An approval that the rules allow and that finance should look at. It is no divergence. */
export interface Notice {
  notice: keyof typeof noticeTexts;
  account_id: string;
  /** The approval's own. */
  stream: string;
  revision: number;
  correction_id: string;
  asked_by: string;
  approved_by: string;
  approved_at: string;
}

export const noticeTexts = {
  invited: 'one of the two who asked and approved had invited the other within seven days',
  not_told_apart:
    'one of the two who asked and approved had no e-mail address, which an earlier version allowed: they may be one person',
} as const;
