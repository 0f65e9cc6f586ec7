// Words that come from elsewhere: from links, files and their metadata, servers and what was stored. They are shown as
// one line of text, as long as a line may be.

const LONGEST = 120;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/**
 * A text without line breaks and without characters that change the direction or the place of what is around them; of
 * a text longer than `most` the middle is left out. Anything but a text is none.
 */
export function oneLine(text, most = LONGEST) {
  if (typeof text !== 'string') return '';
  // No more of a text of megabytes is looked at than may be shown.
  const near = text.length > 8 * most ? `${text.slice(0, 4 * most)}${text.slice(-4 * most)}` : text;
  const line = near.replace(CONTROLS, ' ').replace(/\s+/g, ' ').trim();
  const characters = [...line];
  if (characters.length <= most && near === text) return line;
  const half = Math.floor((most - 1) / 2);
  return `${characters.slice(0, half).join('')}…${characters.slice(-half).join('')}`;
}
