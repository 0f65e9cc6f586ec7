// Bounds what Markdown may cost. The parser reads the rest of a paragraph again at every mark that does not open
// anything, and calls itself for what lies within something else: a text of marks alone takes minutes, or more calls
// than the browser allows. What it reads is counted here, and how deep it is; beyond that the text is no Markdown.

/** How deep quotes, lists, emphasis and links may lie within each other; deeper marks are text. */
const DEEPEST = 16;
/** Characters that the parser may read for each text, and more for each character of it. */
const FOR_TEXT = 1_500_000;
const FOR_CHARACTER = 120;
/** Reading on costs no time that anybody notices, where it takes fewer milliseconds than this all in all. */
const UNNOTICED = 150;
/** A call of a rule counts as this many characters, whatever it reads. */
const CALL = 40;
/** Longer texts are no Markdown. */
const LONGEST = 400_000;
/** Elements that are drawn at once. */
const MOST_ELEMENTS = 30_000;

const RULES = [
  ...['space', 'code', 'fences', 'heading', 'hr', 'blockquote', 'list', 'html', 'def', 'table', 'lheading'],
  ...['paragraph', 'text', 'escape', 'tag', 'link', 'reflink', 'emStrong', 'codespan', 'br', 'del', 'autolink', 'url'],
  'inlineText',
];
/** Rules that call the parser for what lies within. */
const NESTING = new Set(['blockquote', 'list', 'link', 'reflink', 'emStrong', 'del']);
/** Rules that may read all of what is left of a paragraph. */
const READING = new Set(['inlineText', 'emStrong', 'url', 'del', 'link']);

/** Thrown where a text costs more than it may. */
export class TooCostly extends Error {
  name = 'TooCostly';
}

/** What texts that are drawn together may cost. */
class Budget {
  #left = 0;
  #begun = performance.now();
  #read = 0;
  #elements = 0;

  /** Adds a text. */
  allow(text) {
    if (text.length > LONGEST) throw new TooCostly(`${text.length} characters`);
    this.#left += this.#read === 0 ? FOR_TEXT : 0;
    this.#left += FOR_CHARACTER * text.length;
  }

  spend(cost) {
    this.#read += cost;
    this.#left -= cost;
    if (this.#left >= 0 || performance.now() - this.#begun < UNNOTICED) return;
    throw new TooCostly(`${this.#read} characters were read`);
  }

  /** HTML is about to become elements. */
  draw(html) {
    this.#elements += html.split(/<\w/).length;
    if (this.#elements > MOST_ELEMENTS) throw new TooCostly(`${this.#elements} elements`);
  }
}

let budget;
let depth = 0;

/** Calls `draw`, in which all texts have one budget: what is drawn at once is waited for at once. */
export function together(draw) {
  if (budget) return draw();
  budget = new Budget();
  try {
    return draw();
  } finally {
    budget = undefined;
  }
}

/** What `parse` makes of `text`; HTML is counted, too. Throws `TooCostly`, and whatever `parse` throws. */
export const within = (text, parse) =>
  together(() => {
    budget.allow(text);
    depth = 0;
    const made = parse(text);
    if (typeof made === 'string') budget.draw(made);
    return made;
  });

/** Rules of `Tokenizer` that count what they read, for `new Marked({ tokenizer })`; `own` come before them. */
export function countedRules(Tokenizer, own = {}) {
  const counted = (name) => {
    const nests = NESTING.has(name);
    const reads = READING.has(name);
    return function rule(...given) {
      budget?.spend(CALL + (reads ? given[0].length : 0));
      if (nests && depth >= DEEPEST) return undefined;
      depth += nests ? 1 : 0;
      try {
        return own[name]?.apply(this, given) || Tokenizer.prototype[name].apply(this, given);
      } finally {
        depth -= nests ? 1 : 0;
      }
    };
  };
  return Object.fromEntries(RULES.map((name) => [name, counted(name)]));
}
