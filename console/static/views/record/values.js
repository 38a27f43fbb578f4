// @ts-check
// The bytes and the JSON of a key, a value or a header.

/** Bytes of `{text}` or `{base64}`. */
export function bytesOf(data) {
  if (data.base64 === undefined) return new TextEncoder().encode(data.text);
  return Uint8Array.from(atob(data.base64), (one) => one.charCodeAt(0));
}

/** JSON whose whole numbers stay exact, however large; undefined where it is no object and no
 * list. */
export function jsonOf(data) {
  if (!data || data.text === undefined || data.cut || !/^\s*[[{]/.test(data.text)) return undefined;
  try {
    return JSON.parse(data.text, (_, value, context) =>
      typeof value === "number" &&
      !Number.isSafeInteger(value) &&
      /^-?\d+$/.test(context?.source ?? "")
        ? BigInt(context.source)
        : value,
    );
  } catch {
    return undefined;
  }
}

/**
 * A byte as two hexadecimal digits.
 *
 * @param {number} one
 */
export function hex(one) {
  return one.toString(16).padStart(2, "0");
}
