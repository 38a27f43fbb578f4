// What the page asks the console: answers once, again and again, or as events.
// A tab that is not looked at asks for nothing.

import { useCallback, useEffect, useRef, useState } from "./vendor/preact.js";

async function answered(response) {
  let found = null;
  try {
    found = await response.json();
  } catch {
    // what is no JSON did not come from an endpoint
  }
  if (response.ok) return found;
  throw new Error(found?.error ?? `the console answered ${response.status}`);
}

async function asked(where, options) {
  try {
    return await fetch(where, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the console does not answer: is ottla console still running?", {
      cause: error,
    });
  }
}

/** GET; the JSON. Throws Error with one line. */
export async function get(where, signal) {
  return answered(await asked(where, { signal }));
}

/** Changes something. Throws Error with one line. */
export async function post(where, body = {}) {
  const headers = { "content-type": "application/json" };
  return answered(await asked(where, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** A path with encoded parameters: `path("/api/topics/{}", name)`, and a query without nulls. */
export function path(form, ...values) {
  const query = typeof values.at(-1) === "object" ? values.pop() : {};
  const filled = form.replace(/\{\}/g, () => encodeURIComponent(values.shift()));
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  return pairs.length ? `${filled}?${new URLSearchParams(pairs)}` : filled;
}

/**
 * What a path answers, asked for again each `every` ms while the tab is seen; null: nothing is
 * asked.
 * Gives {data, error, loading, again}. The last answer stays while the next one is on its way.
 */
export function useGet(what, { every = 0 } = {}) {
  const [state, set] = useState({ data: null, error: null, loading: true });
  const [turn, setTurn] = useState(0);
  const last = useRef(what);
  useEffect(() => {
    if (what === null) return undefined;
    const changed = last.current !== what;
    last.current = what;
    if (changed) set({ data: null, error: null, loading: true });
    const ending = new AbortController();
    let timer = 0;
    async function ask() {
      if (document.hidden && every) {
        timer = setTimeout(ask, every);
        return;
      }
      try {
        const data = await get(what, ending.signal);
        set({ data, error: null, loading: false });
      } catch (error) {
        if (ending.signal.aborted) return;
        set((before) => ({ data: before.data, error: error.message, loading: false }));
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
 * Events of a path while the tab is seen; null: none. `onEvent(value)`; gives {error, done, open}.
 * A browser has six connections to a console: one stream a page.
 */
export function useStream(what, onEvent) {
  const [state, set] = useState({ error: null, done: false, open: false });
  const heard = useRef(onEvent);
  heard.current = onEvent;
  useEffect(() => {
    set({ error: null, done: false, open: false });
    if (what === null) return undefined;
    let source = null;
    let ended = false;
    function end(next) {
      ended = true;
      source?.close();
      set(next);
    }
    function begin() {
      source = new EventSource(what);
      source.onopen = () => set({ error: null, done: false, open: true });
      source.onmessage = (event) => heard.current(JSON.parse(event.data));
      source.addEventListener("done", () => end({ error: null, done: true, open: false }));
      source.addEventListener("failed", (event) =>
        end({ error: JSON.parse(event.data).error, done: true, open: false }),
      );
      source.onerror = async () => {
        if (source.readyState !== EventSource.CLOSED) return;
        let reason = "the console does not answer: is ottla console still running?";
        try {
          const response = await fetch(what);
          reason = response.ok ? "the live view ended" : (await response.json()).error;
          response.body?.cancel?.();
        } catch {
          // nobody answers at all
        }
        end({ error: reason, done: true, open: false });
      };
    }
    function look() {
      if (ended) return;
      if (document.hidden) {
        source?.close();
        source = null;
        set((before) => ({ ...before, open: false }));
      } else if (source === null) {
        begin();
      }
    }
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      source?.close();
    };
  }, [what]);
  return state;
}
