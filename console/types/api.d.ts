// What api.js gives, besides what endpoints answer.

declare namespace Api {
  /** A path that is filled in; its form says what it answers. */
  type Path<Form extends string> = string & { readonly form: Form };
  /** What is put into a path's braces; the last may be its query. */
  type Value = string | number | null | undefined;
  type Query = Record<string, Value | boolean>;
  /** An answer, or why there is none. */
  interface Got<T> {
    data: T | null;
    /** When the data came, in ms since 1970. */
    at?: number;
    error: string | null;
    loading: boolean;
    again: () => void;
  }
  /** The state of a stream; `again` starts it anew after it has ended. */
  interface Heard {
    error: string | null;
    done: boolean;
    open: boolean;
    again: () => void;
  }
}

/** What stands behind the `?` of an address. */
type Q = Record<string, string | undefined>;
/** What an address says: its parameters, and its query. */
type Params = { q: Q } & Record<"topic" | "partition" | "offset" | "group", string>;
/** Shows the same page with other parameters; null takes one away. */
type Turn = (changes: Api.Query) => void;
/** What a part calls when something is done or chosen. */
type Call = (...words: any[]) => any;

/** A column of parts/table.js: with `value` one can sort by it, `show` says what is shown. */
interface Column<Row> {
  name: string;
  label?: string;
  number?: boolean;
  wide?: boolean;
  /** Shown only in windows wider than this, in pixels. */
  above?: 760 | 1280 | 1500;
  fixed?: boolean;
  value?: (row: Row) => unknown;
  show?: (row: Row) => unknown;
}
