// What the pages share about their address: `page.html?name=value`.

/** An error about something that the page was asked. */
export const wrong = (message) => Object.assign(new Error(message), { code: 'invalid_argument' });

/** Throws where the address has a name that is not among `known`. */
export function checkNames(query, known) {
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown) throw wrong(`unknown parameter '${unknown}'; known are ${known.join(', ')}`);
}
