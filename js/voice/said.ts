/**
 * What of an answer can be said, and what of it was.
 */

/** The whole sentences at the beginning of a text that grows; the last may go on. @internal */
export function complete(text: string, language: string): string[] {
  const parts = Array.from(
    new Intl.Segmenter(language, { granularity: 'sentence' }).segment(text),
    (part) => part.segment,
  );
  const whole = parts.slice(0, -1);
  const last = parts.at(-1) ?? '';
  // Chinese and Japanese have no space behind a sentence.
  return /[。！？]["”’」』]?$|\n$/.test(last) ? parts : whole;
}

/** The sentence that a text ends with, whole or not. @internal */
export function lastSentence(text: string, language: string): string {
  const parts = new Intl.Segmenter(language, { granularity: 'sentence' }).segment(text.trim());
  return (Array.from(parts).at(-1)?.segment ?? '').trim();
}

/** Sentences with the share of each that was heard, as text: of the last one its first words. @internal */
export function spokenPart(texts: readonly { readonly text: string; readonly share: number }[]): string {
  const said = texts.map(({ text, share }) => {
    if (share >= 1) return text;
    const words = Array.from(
      new Intl.Segmenter(undefined, { granularity: 'word' }).segment(text),
      (part) => part.segment,
    );
    const room = share * text.length;
    let length = 0;
    return words.filter((word) => (length += word.length) <= room).join('');
  });
  return said.join('').trim();
}
