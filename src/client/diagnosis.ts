/** What `perdure doctor` found, check by check. */
export interface Diagnosis {
  findings: Finding[];
}

export interface Finding {
  /** What was looked at: `server`, `store`, `clock` … */
  subject: string;
  /** A warning leaves runs going; a problem does not. */
  status: 'ok' | 'warning' | 'problem';
  words: string;
  /** What to type or change. */
  next?: string;
}
