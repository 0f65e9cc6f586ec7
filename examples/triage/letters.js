/** Letters to a shop that sells and mends bicycles: each line once for every thing. */
const LINES = [
  ['Charged twice', 'my card was charged twice for the {thing}. Please send one payment back.'],
  ['Invoice', 'could you send me the invoice for the {thing} once more? My accountant needs it by Friday.'],
  ['Refund', 'I sent the {thing} back two weeks ago and still have no money.'],
  ['Price', 'the price of the {thing} was lower yesterday. Can I have it for that?'],
  ['Where is it?', 'the {thing} should have been here on Monday. Where is it?'],
  ['Wrong address', 'I have moved: please send the {thing} to my new address. It leaves tomorrow, I believe.'],
  ['Parcel is damaged', 'the parcel with the {thing} came today, and the box is crushed.'],
  ['Nobody rang', 'the driver wrote that nobody was at home, but I was. When does the {thing} come now?'],
  ['It does not work', 'the {thing} stopped working after three days.'],
  ['Danger', 'the {thing} came loose while I was riding, and I nearly fell. My son rides with one, too!'],
  ['How to mount it', 'I cannot find out how the {thing} is mounted. Is there a drawing?'],
  ['Noise', 'since the last ride the {thing} makes a grinding noise. It is no hurry.'],
  ['Spare part', 'can the {thing} be mended, or is there a part for it?'],
  ['Thank you', 'just a word of thanks: the {thing} is wonderful, and so was your mechanic.'],
  ['Opening hours', 'are you open on Sunday? I would like to see the {thing} before I buy it.'],
  ['A school class', 'may our class visit the workshop in spring? The children have heard of the {thing}.'],
  ['Newsletter', 'please take me off the list; the {thing} was a present, and I do not ride.'],
  ['Job', 'I have mended bicycles for ten years, down to the {thing}. Are you looking for somebody?'],
  ['Stolen', 'my bicycle was stolen last night, with the {thing}. Can you give me the frame number today?'],
  ['Race tomorrow', 'I ride a race tomorrow morning, and the {thing} is broken. Can you help me today?'],
];
const THINGS = [
  ...['front lamp', 'child seat', 'brake lever', 'carrier', 'bell'],
  ...['electric motor', 'chain guard', 'pedal', 'saddle', 'lock'],
];
const NAMES = ['Maria', 'Jonas', 'Aylin', 'Pedro', 'Ingrid', 'Tomasz', 'Grace', 'Luca', 'Sofia', 'Karim', 'Emma'];

/** 200 letters, in an order that looks like a week's post. */
export const LETTERS = Array.from({ length: LINES.length * THINGS.length }, (_, number) => {
  const at = (number * 77) % (LINES.length * THINGS.length);
  const [subject, text] = LINES[at % LINES.length];
  const thing = THINGS[Math.floor(at / LINES.length)];
  const from = NAMES[number % NAMES.length];
  return { number, from, subject, text: `Hello, ${text.replace('{thing}', thing)} ${from}` };
});
