// What a page tells the address in `report`. That address comes with a link, which anybody may have made: only the
// server that the page itself came from is told anything.

/**
 * POSTs a value as JSON to an address on the page's own origin. Returns nothing where it was accepted, else why not:
 * the address is on another origin, the HTTP status, or 'not reachable'.
 */
export async function postReport(url, value) {
  if (originOf(url) !== location.origin) return `${url} is not an address on ${location.origin}`;
  const options = {
    method: 'POST',
    mode: 'same-origin', // a redirect to elsewhere is not followed
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  };
  const response = await fetch(url, options).catch(() => undefined);
  return response?.ok ? undefined : String(response?.status ?? 'not reachable');
}

/** The origin of an address; nothing where it is no address. */
function originOf(url) {
  try {
    return new URL(url, location.href).origin;
  } catch {
    return undefined;
  }
}

/** What is reported instead of a result. */
export function errorReport(error) {
  return { error: { code: error?.code ?? 'internal', message: error?.message ?? String(error) } };
}
