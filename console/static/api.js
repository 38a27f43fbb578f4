// @ts-check
// Requests of the page to the console: once, again and again, or as a stream of events.
// A hidden tab sends none.

import { useCallback, useEffect, useRef, useState } from "./vendor/preact.js";

const NOTHING_YET = { data: null, error: null, loading: true };
const RECONNECT_MS = 1000;
/** @type {Omit<Api.Heard, "again">} */
const SILENT = { error: null, done: false, open: false };

/**
 * Return the text of an error, in one line.
 *
 * @param {unknown} error
 */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {Response} response */
async function answered(response) {
  let found = null;
  try {
    found = await response.json();
  } catch {
    // what is no JSON did not come from an endpoint
  }
  if (response.ok) return found;
  throw new Error(
    found?.error ?? `the console answered with HTTP status ${response.status}: reload the page`,
  );
}

/** @param {string} where @param {RequestInit} options */
async function asked(where, options) {
  try {
    return await fetch(where, options);
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    throw new Error("the console does not answer: check that ottla console is running", {
      cause: error,
    });
  }
}

/**
 * Send a GET request and return the JSON of the answer. Throws Error with one line.
 *
 * @template {keyof Answer.Gets} Form
 * @param {Form | Api.Path<Form>} where
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer.Gets[Form]>}
 */
export async function get(where, signal) {
  return answered(await asked(where, { signal }));
}

/**
 * GET; the bytes of a file. Throws Error with one line.
 *
 * @param {string} where
 */
export async function getBytes(where) {
  const response = await asked(where, {});
  if (!response.ok) await answered(response);
  return new Uint8Array(await response.arrayBuffer());
}

/**
 * Send a POST request, which changes something, and return the JSON of the answer. Throws Error
 * with one line.
 *
 * @template {keyof Answer.Posts} Form
 * @param {Form | Api.Path<Form>} where
 * @param {object} body
 * @returns {Promise<Answer.Posts[Form]>}
 */
export async function post(where, body = {}) {
  const headers = { "content-type": "application/json" };
  return answered(await asked(where, { method: "POST", headers, body: JSON.stringify(body) }));
}

/**
 * Return a path with encoded parameters, as in `path("/api/topics/{}", name)`, and with a query
 * without nulls.
 *
 * @template {string} Form
 * @param {Form} form
 * @param {...(Api.Value | Api.Query)} values
 * @returns {Api.Path<Form>}
 */
export function path(form, ...values) {
  const last = values.at(-1);
  const query = typeof last === "object" && last !== null ? last : {};
  const filled = form.replace(/\{\}/g, () => encodeURIComponent(String(values.shift())));
  return /** @type {Api.Path<Form>} */ (withQuery(filled, query));
}

/**
 * Return an address with more parameters; nulls and empty texts are left out.
 *
 * @param {string} address
 * @param {Api.Query} query
 */
export function withQuery(address, query) {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [name, String(value)]);
  if (!pairs.length) return address;
  return `${address}${address.includes("?") ? "&" : "?"}${new URLSearchParams(pairs)}`;
}

/**
 * Return the last answer of a path, which is requested again each `every` ms while the tab is
 * visible, and a function that requests it at once. The last answer stays until the next one has
 * come. `what` null: nothing is requested.
 *
 * @template {keyof Answer.Gets} Form
 * @param {Form | Api.Path<Form> | null} what
 * @returns {Api.Got<Answer.Gets[Form]>}
 */
export function useGet(what, { every = 0 } = {}) {
  const [state, set] = useState(
    /** @type {Omit<Api.Got<Answer.Gets[Form]>, "again">} */ (NOTHING_YET),
  );
  const [turn, setTurn] = useState(0);
  const last = useRef(what);
  useEffect(() => {
    if (what === null) return undefined;
    const changed = last.current !== what;
    last.current = what;
    if (changed) set(NOTHING_YET);
    const ending = new AbortController();
    let timer = 0;
    async function ask() {
      if (document.hidden && every) {
        timer = setTimeout(ask, every);
        return;
      }
      try {
        const data = await get(/** @type {Form} */ (what), ending.signal);
        set({ data, at: Date.now(), error: null, loading: false });
      } catch (error) {
        if (ending.signal.aborted) return;
        set((before) => ({ ...before, error: messageOf(error), loading: false }));
      }
      if (every && !ending.signal.aborted) timer = setTimeout(ask, every);
    }
    ask();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [what, every, turn]);
  const again = useCallback(() => setTurn((one) => one + 1), []);
  return { ...state, again };
}

/**
 * Call `onEvent` for each event of a path while the tab is visible, and return the state of the
 * stream. `what` null: there is no stream. A page has one stream, because a browser has six
 * connections to a console.
 *
 * A hidden tab closes its stream. `goOn` returns the parameters with which the stream then goes on
 * from its last event; without it, the stream starts anew.
 *
 * @template {keyof Answer.Streams} Form
 * @param {Form | Api.Path<Form> | null} what
 * @param {(event: Answer.Streams[Form]) => void} onEvent
 * @param {() => Api.Query} [goOn]
 * @returns {Api.Heard}
 */
export function useStream(what, onEvent, goOn) {
  const [state, set] = useState(SILENT);
  const [turn, setTurn] = useState(0);
  const heard = useRef(onEvent);
  heard.current = onEvent;
  const goesOn = useRef(goOn);
  goesOn.current = goOn;
  useEffect(() => {
    set(SILENT);
    if (what === null) return undefined;
    /** @type {EventSource | null} */
    let source = null;
    let ended = false;
    let timer = 0;
    /** @param {Omit<Api.Heard, "again">} next */
    function end(next) {
      ended = true;
      source?.close();
      set(next);
    }
    function begin() {
      const address = withQuery(String(what), goesOn.current?.() ?? {});
      const opened = new EventSource(address);
      source = opened;
      opened.onopen = () => set({ error: null, done: false, open: true });
      opened.onmessage = (event) => heard.current(JSON.parse(event.data));
      opened.addEventListener("done", () => end({ error: null, done: true, open: false }));
      opened.addEventListener("failed", (event) =>
        end({ error: JSON.parse(event.data).error, done: true, open: false }),
      );
      opened.onerror = async () => {
        if (opened.readyState !== EventSource.CLOSED) {
          if (goesOn.current) beginLater(); // the browser would ask for the first address again
          return;
        }
        let reason = "the console does not answer: check that ottla console is running";
        try {
          const response = await fetch(address);
          if (response.ok) {
            reason = "the live updates ended: reload the page";
            await response.body?.cancel?.();
          } else {
            reason = (await response.json()).error;
          }
        } catch {
          // the console does not answer at all
        }
        end({ error: reason, done: true, open: false });
      };
    }
    function beginLater() {
      close();
      timer = setTimeout(look, RECONNECT_MS);
    }
    function close() {
      clearTimeout(timer);
      source?.close();
      source = null;
      set((before) => ({ ...before, open: false }));
    }
    function look() {
      if (ended) return;
      if (document.hidden) {
        close();
      } else if (source === null) {
        begin();
      }
    }
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      clearTimeout(timer);
      source?.close();
    };
  }, [what, turn]);
  const again = useCallback(() => setTurn((one) => one + 1), []);
  return { ...state, again };
}
