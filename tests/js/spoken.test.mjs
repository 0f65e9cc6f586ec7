// Texts as they are read aloud, in five languages; hostile ones in time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sentences, spokenText } from '../../dist/voice/index.js';
import { de } from '../../dist/voice/spoken/de.js';
import { en } from '../../dist/voice/spoken/en.js';
import { es } from '../../dist/voice/spoken/es.js';
import { fr } from '../../dist/voice/spoken/fr.js';
import { zh } from '../../dist/voice/spoken/zh.js';

/** Written, and as it is said. */
const SAID = {
  en: [
    ['**Dr. Li** ran 5 km in 21:07.', 'Doctor Li ran five kilometers in twenty-one oh seven.'],
    ['On 2024-03-05 & 3/4/1999.', 'On March fifth, twenty twenty-four and March fourth, nineteen ninety-nine.'],
    ['$5.50, £1 and 3 €', 'five US dollars fifty, one British pound and three euros'],
    [
      '-3 °C, 3.5%, 1 mi at 60 mph',
      'minus three degrees Celsius, three point five percent, one mile at sixty miles per hour',
    ],
    ['the 1st, 22nd and 113th', 'the first, twenty-second and one hundred thirteenth'],
    [
      '1,200,567 of 0.05 or 007',
      'one million two hundred thousand five hundred sixty-seven of zero point zero five or zero zero seven',
    ],
    ['in 2000, 2005, 1900, 1066', 'in two thousand, two thousand five, nineteen hundred, one thousand sixty-six'],
    ['10–12 people, v 1.2.3, 1,2,3', 'ten to twelve people, v one point two point three, one,two,three'],
    ['9:05, 12:00, 0:00', 'nine oh five, noon, midnight'],
    ['e.g. #42, a@b.co, 2 * 3 = 6', 'for example number forty-two, a at b.co, two times three equals six'],
    ['Cats, dogs, etc.', 'Cats, dogs, et cetera.'],
    ['Great 👍👍 ❤️ 🇩🇪 🦤', 'Great thumbs up heart'],
  ],
  de: [
    ['Am 5.3.2024 um 14:30 Uhr', 'Am fünften März zweitausendvierundzwanzig um vierzehn Uhr dreißig'],
    ['Der 3. Mai, z. B. 1 km', 'Der dritte Mai, zum Beispiel ein Kilometer'],
    [
      '1.234,50 € bzw. 3,5 %',
      'eintausendzweihundertvierunddreißig Euro fünfzig beziehungsweise drei Komma fünf Prozent',
    ],
    ['1989 und 101', 'neunzehnhundertneunundachtzig und einhunderteins'],
  ],
  fr: [
    ['Le 1/5/2024 à 14h30', 'Le premier mai deux mille vingt-quatre à quatorze heures trente'],
    ['71,80 € pour 1 234 choses', 'soixante et onze euros quatre-vingts pour mille deux cent trente-quatre choses'],
    ['M. Li, le 1er et le 2e, 80 km/h', 'Monsieur Li, le premier et le deuxième, quatre-vingts kilomètres par heure'],
  ],
  es: [
    ['El 1/5/2024, 21,50 €', 'El primero de mayo de dos mil veinticuatro, veintiún euros cincuenta'],
    ['p. ej. 1 km o el 3.º', 'por ejemplo un kilómetro o el tercero'],
    ['1.234.567', 'un millón doscientos treinta y cuatro mil quinientos sesenta y siete'],
  ],
  zh: [
    ['2024年3月5日14:30。', '二零二四年三月五日十四点三十分。'],
    ['跑了5 km，占3.5%，-3 °C', '跑了五公里，占百分之三点五，负三摄氏度'],
    ['花了¥12，买110个', '花了十二人民币，买一百一十个'],
  ],
};

for (const [language, cases] of Object.entries(SAID)) {
  test(`${language}: what is written, and what is said`, () => {
    for (const [written, said] of cases) assert.equal(spokenText(written, language), said, written);
  });
}

test('cardinals and ordinals', () => {
  const said = (language, values) => values.map((value) => language.cardinal(value));
  assert.deepEqual(said(en, [0, 13, 40, 100, 1e6 + 1]), [
    'zero',
    'thirteen',
    'forty',
    'one hundred',
    'one million one',
  ]);
  assert.deepEqual(said(de, [1, 21, 101, 1e6, 2e9]), [
    'eins',
    'einundzwanzig',
    'einhunderteins',
    'eine Million',
    'zwei Milliarden',
  ]);
  assert.deepEqual(said(fr, [21, 71, 80, 81, 91, 200, 201, 80_000, 2e6]), [
    ...['vingt et un', 'soixante et onze', 'quatre-vingts', 'quatre-vingt-un', 'quatre-vingt-onze', 'deux cents'],
    ...['deux cent un', 'quatre-vingt mille', 'deux millions'],
  ]);
  assert.deepEqual(said(es, [21, 100, 101, 21_000, 1e9, 1e12]), [
    ...['veintiuno', 'cien', 'ciento uno', 'veintiún mil', 'mil millones', 'un billón'],
  ]);
  assert.deepEqual(said(zh, [0, 10, 105, 110, 1010, 10_010, 101_000, 100_100_000, 100_001_000]), [
    ...['零', '十', '一百零五', '一百一十', '一千零一十', '一万零一十', '十万一千', '一亿零一十万', '一亿零一千'],
  ]);
  assert.deepEqual([1, 2, 12, 20, 21].map(en.ordinal), ['first', 'second', 'twelfth', 'twentieth', 'twenty-first']);
  assert.deepEqual([1, 3, 7, 8, 20, 101].map(de.ordinal), [
    'erste',
    'dritte',
    'siebte',
    'achte',
    'zwanzigste',
    'einhunderterste',
  ]);
  assert.deepEqual([1, 5, 9, 21, 80].map(fr.ordinal), [
    'premier',
    'cinquième',
    'neuvième',
    'vingt et unième',
    'quatre-vingtième',
  ]);
});

test('texts of 10,000 characters: in time, in sentences that end with a character, and with all letters', () => {
  const long = (text) => text.repeat(Math.ceil(10_000 / text.length));
  const texts = [
    'The 3 quick foxes ran 5 km on 2024-03-05, and slept. ',
    ...['a', '1', '*', '. ', '[a](', 'a\u0338\u0323', 'H\u0337e\u0338y '],
    ...['😀', 'x😀', '👩‍👩‍👧‍👦 ', '👩‍👩‍👧‍👦b', '🇩🇪', '\u200d', '\ud83d'],
    ...['مرحبا بالعالم 123. ', 'שלום עולם! ', 'abc \u202eשלום\u202c 12:30. ', 'سلام'],
    ...['नमस्ते', 'สวัสดีชาวโลก', '你好世界。', '你好世界'],
  ];
  for (const text of texts) {
    for (const language of ['en', 'de', 'fr', 'es', 'zh', 'ar']) {
      const name = `${language}: ${JSON.stringify(text)}`;
      const before = performance.now();
      const words = spokenText(long(text), language);
      // Off by one or two, so that borders lie elsewhere.
      const parts = ['', 'b', 'bc'].map((start) => sentences(start + long(text), language));
      const took = performance.now() - before;
      assert.ok(took < 4000, `${name}: ${took} ms`);
      // Letters of other scripts than the language's are not lost.
      const letters = (found) => found.replaceAll(/[^\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}]/gu, '');
      assert.equal(letters(words), letters(long(text)), name);
      for (const found of parts) {
        assert.ok(
          found.every((part) => part.length <= 300 && part.trim() !== ''),
          name,
        );
        // Joiners alone are one character, however many they are.
        const isCut = (part) => text !== '\u200d' && /^(?:\p{M}|\u200d|[\udc00-\udfff])/u.test(part);
        assert.equal(found.slice(1).find(isCut), undefined, name);
      }
    }
  }
  assert.equal(spokenText(long('👩‍👩‍👧‍👦 '), 'de'), '');
  assert.equal(spokenText(long('😀'), 'en'), 'smile');
});

test('Markdown: blocks end as sentences do, and code is not read', () => {
  const text = [
    ...['# Title', '', '- [x] one', '* two', '', '1. First', '2) Second!', '', '```js', 'let x = 1;', '```'],
    ...[
      '| a | b |',
      '|---|:-:|',
      '| c | d |',
      '',
      '> quoted *text*',
      '',
      '---',
      '![a dog](dog.png) [link](https://x.y/z_(w)',
    ],
    ...['`npm start`, _now_, snake_case, ~~gone~~ <b>bold</b><!-- hidden --> https://www.example.com/a?b=c.'],
  ];
  assert.equal(
    spokenText(text.join('\n'), 'en'),
    [
      ...['Title.', 'one.', 'two.', 'one: First.', 'two: Second!', 'a, b.', 'c, d.', 'quoted text', 'a dog link'],
      'npm start, now, snake case, gone bold example.com',
    ].join('\n'),
  );
  assert.equal(spokenText('```\nnever closed', 'en'), '');
});

test('other languages keep figures; right-to-left text stays as it is', () => {
  assert.equal(spokenText('مرحبا **كيف** حالك؟ 5 km 👍', 'ar'), 'مرحبا كيف حالك؟ 5 km');
  assert.equal(spokenText('שלום, עולם.', 'he'), 'שלום, עולם.');
  assert.equal(spokenText('5 km', 'de-AT'), 'fünf Kilometer');
});

test('nothing is nothing, and what is no text or language is refused', () => {
  for (const nothing of ['', ' \n ', '***', '🦤']) assert.equal(spokenText(nothing, 'en'), '');
  const refused = (message) => ({ code: 'invalid_argument', message });
  assert.throws(() => spokenText(7, 'en'), refused(/expected a string, found 7/));
  assert.throws(() => spokenText('a', ''), refused(/a language such as 'en', found ''/));
  assert.throws(() => spokenText('a'.repeat(100_001), 'en'), refused(/100001 characters, at most 100000/));
});

test('sentences: by language, and none is too long', () => {
  assert.deepEqual(sentences('Hello. How are you?\nFine', 'en'), ['Hello.', 'How are you?', 'Fine']);
  assert.deepEqual(sentences('你好。世界！', 'zh'), ['你好。', '世界！']);
  assert.deepEqual(sentences('', 'en'), []);
  for (const long of ['word '.repeat(2000), '字'.repeat(10_000), '😀'.repeat(5000), 'a, b '.repeat(2000)]) {
    const parts = sentences(long, 'en');
    assert.ok(parts.every((part) => part.length <= 300 && part.isWellFormed() && part !== ''));
    assert.equal(parts.join('').replaceAll(' ', ''), long.replaceAll(' ', ''));
  }
});

test('hostile texts of 10,000 characters take no time that grows with their square', () => {
  const parts = [
    '**a** ',
    '[a](b',
    '1,',
    '*a',
    '`',
    '1',
    '<a',
    '-',
    '12:',
    '😀',
    '<!--',
    '```\n',
    '1 234 ',
    '1.2.3.4',
    '_a_',
    '|',
  ];
  const cost = (part, length) => {
    const text = part.repeat(length / part.length);
    const begun = process.cpuUsage().user;
    spokenText(text, 'en');
    return process.cpuUsage().user - begun;
  };
  // In microseconds of this process: the bound is a hundred times what they take.
  for (const part of parts) assert.ok(cost(part, 10_000) < 5e6, part);
});
