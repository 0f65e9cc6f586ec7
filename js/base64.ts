/**
 * Bytes as base64.
 */
import { invalidArgument } from './errors.js';

/** @internal */
export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** @internal */
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    throw invalidArgument(`a text of ${text.length} characters is not base64`);
  }
}
