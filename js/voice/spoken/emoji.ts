/**
 * Names of the emoji that chats have most; others are left out.
 */

/** The emoji, and its names in English, German, French, Spanish and Chinese. */
const NAMES: readonly (readonly [string, string, string, string, string, string])[] = [
  ['😀😃😄😁😊🙂☺', 'smile', 'Lächeln', 'sourire', 'sonrisa', '微笑'],
  ['😂🤣', 'laughing', 'Lachen', 'rire', 'risa', '大笑'],
  ['😉', 'wink', 'Zwinkern', 'clin d’œil', 'guiño', '眨眼'],
  ['😍🥰', 'in love', 'verliebt', 'amoureux', 'enamorado', '喜爱'],
  ['😢😭', 'crying', 'Weinen', 'pleurs', 'llanto', '哭泣'],
  ['😮😲😱', 'astonished', 'erstaunt', 'étonné', 'asombro', '惊讶'],
  ['😡😠', 'angry', 'wütend', 'en colère', 'enfado', '生气'],
  ['🤔', 'thinking', 'nachdenklich', 'réflexion', 'pensativo', '思考'],
  ['😎', 'cool', 'cool', 'cool', 'guay', '酷'],
  ['👍', 'thumbs up', 'Daumen hoch', 'pouce levé', 'pulgar arriba', '点赞'],
  ['👎', 'thumbs down', 'Daumen runter', 'pouce baissé', 'pulgar abajo', '点踩'],
  ['👏', 'applause', 'Applaus', 'applaudissements', 'aplausos', '鼓掌'],
  ['👋', 'waving', 'Winken', 'salut de la main', 'saludo', '挥手'],
  ['🙏', 'folded hands', 'gefaltete Hände', 'mains jointes', 'manos juntas', '合掌'],
  ['❤💙💚💛🧡💜🖤', 'heart', 'Herz', 'cœur', 'corazón', '爱心'],
  ['🎉🥳', 'celebration', 'Feier', 'fête', 'celebración', '庆祝'],
  ['🔥', 'fire', 'Feuer', 'feu', 'fuego', '火'],
  ['⭐🌟✨', 'star', 'Stern', 'étoile', 'estrella', '星星'],
  ['🚀', 'rocket', 'Rakete', 'fusée', 'cohete', '火箭'],
  ['✅✔', 'check mark', 'Häkchen', 'coche', 'marca de verificación', '对勾'],
  ['❌', 'cross', 'Kreuz', 'croix', 'cruz', '叉号'],
  ['⚠', 'warning', 'Warnung', 'attention', 'advertencia', '警告'],
  ['💡', 'light bulb', 'Glühbirne', 'ampoule', 'bombilla', '灯泡'],
  ['☀🌞', 'sun', 'Sonne', 'soleil', 'sol', '太阳'],
  ['🌧☔', 'rain', 'Regen', 'pluie', 'lluvia', '下雨'],
  ['☕', 'coffee', 'Kaffee', 'café', 'café', '咖啡'],
  ['🍕', 'pizza', 'Pizza', 'pizza', 'pizza', '披萨'],
  ['🐶🐕', 'dog', 'Hund', 'chien', 'perro', '狗'],
  ['🐱🐈', 'cat', 'Katze', 'chat', 'gato', '猫'],
  ['🎵🎶', 'music', 'Musik', 'musique', 'música', '音乐'],
];

const LANGUAGES = ['en', 'de', 'fr', 'es', 'zh'];

const named = new Map(NAMES.flatMap(([signs, ...names]) => [...signs].map((sign) => [sign, names] as const)));

/** A text with the names of its emoji, each once where it stands several times. @internal */
export function withNames(text: string, language: string): string {
  const at = LANGUAGES.indexOf(language);
  const group = /(?:\p{Extended_Pictographic}|\p{Regional_Indicator}|[\u{1f3fb}-\u{1f3ff}]|\u200d|\ufe0f|\u20e3)+/gu;
  return text.replaceAll(group, (signs) => {
    // These signs are text, too.
    if (/^[©®™]\ufe0f?$/u.test(signs)) return signs;
    const names = [...signs].flatMap((sign) => named.get(sign)?.[at] ?? []);
    return names.length > 0 ? ` ${[...new Set(names)].join(', ')} ` : ' ';
  });
}
