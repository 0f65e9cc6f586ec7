// What a page tells the address in `report`.

/** POSTs a value as JSON. Returns nothing where it was accepted, else why not: the status, or 'not reachable'. */
export async function postReport(url, value) {
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
  const response = await fetch(url, options).catch(() => undefined);
  return response?.ok ? undefined : String(response?.status ?? 'not reachable');
}

/** What is reported instead of a result. */
export function errorReport(error) {
  return { error: { code: error?.code ?? 'internal', message: error?.message ?? String(error) } };
}
