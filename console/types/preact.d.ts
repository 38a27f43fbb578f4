// What the page uses of vendor/preact.js: htm's `html`, and Preact's hooks.

/** What a component gives, and `html` makes: elements, texts, lists of these, or nothing. */
export type Shown = any;

export function html(strings: TemplateStringsArray, ...values: unknown[]): Shown;
export function render(what: Shown, place: Element | null): void;

/** A value for all components below its Provider. */
interface Context<T> {
  Provider: (props: { value: T; children?: any }) => any;
}

export function createContext<T>(value: T): Context<T>;
export function useContext<T>(context: Context<T>): T;

type Set<S> = (next: S | ((before: S) => S)) => void;

// What begins as null has no type unless it is given one: useState(/** @type {Plan | null} */ (null)).
export function useState(first: null | undefined): [any, (next: any) => void];
export function useState<S>(first: S | (() => S)): [S, Set<S>];
export function useReducer<S, A>(
  step: (before: S, word: A) => S,
  first: S,
): [S, (word?: A) => void];
export function useRef(first: null): { current: any };
export function useRef<T>(first: T): { current: T };
export function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;
export function useCallback<F extends (...words: any[]) => unknown>(
  call: F,
  inputs: readonly unknown[],
): F;
export function useEffect(effect: () => unknown, inputs?: readonly unknown[]): void;
export function useLayoutEffect(effect: () => unknown, inputs?: readonly unknown[]): void;
export function useErrorBoundary(heard?: (error: any) => void): [any, () => void];
