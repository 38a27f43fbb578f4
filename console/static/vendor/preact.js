// The parts of Preact, its hooks and htm that the page uses, as one module. Not vendored: Ottla's.

import htm from "./htm.module.js";
import { createContext, h, render } from "./preact.module.js";

export const html = htm.bind(h);
export { createContext, render };
export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "./hooks.module.js";
