export interface Shown {
  /** A PNG file in base64. */
  shot: string;
  /** The picture that was accepted, if there is one. */
  kept?: string;
}

/** A picture with few colours, as the parts of a PNG file. */
export interface Reduced {
  width: number;
  height: number;
  /** Red, green and blue of each colour. */
  palette: number[];
  /** One byte for each pixel, each row behind the byte of its filter, compressed; in base64. */
  rows: string;
}

/** A picture of which more has changed than may. */
export interface Different {
  reduced: Reduced;
  /** What differs, in red over the pale shot, as a PNG file in base64. */
  difference: string;
}

export interface Weight {
  bytes: number;
  /** First contentful paint, counted from the beginning of the navigation. */
  firstPaintMs: number;
}

/** A column of a table of which not all can be read. */
export interface CutColumn {
  table: string;
  column: string;
  /** How many of its cells are cut. */
  cells: number;
  /** Of the first of them. */
  text: string;
}
