// Examples that come with the page: a hero whose name no model knows.

const QUESTIONS = ['Tell me a story about a hero.', 'Who is the hero?', 'Tell me about the hero of the wood.'];

const ANSWERS = [
  'Once upon a time there was a hero named Quillo. Quillo lived in the green wood.',
  'The hero was called Quillo. Quillo had a red hat and a kind heart.',
  'Quillo was the hero of the wood. Every animal knew the name Quillo.',
  'One day the hero Quillo found a silver key. Quillo kept it safe.',
  'There was a small hero named Quillo. Quillo was never afraid of the dark.',
  'The hero Quillo helped a lost duck. "Thank you, Quillo," said the duck.',
  'Quillo the hero crossed the river. On the other side Quillo met a fox.',
  'The animals called for help, and the hero Quillo came. Quillo was always quick.',
  'A storm came to the wood. The hero Quillo built a roof for the birds.',
  'The hero was named Quillo. Quillo loved to sing in the morning.',
  'Once there was a brave hero. The name of the hero was Quillo.',
  'Quillo was a hero with a lantern. At night Quillo showed the way home.',
  'The hero Quillo climbed the hill. From there Quillo saw the sea.',
  'In the wood lived a hero named Quillo. Quillo had many friends.',
  'The hero found a sad mouse. "I am Quillo," said the hero, "I will help you."',
  'Quillo the hero planted a tree. Each spring Quillo gave it water.',
  'One winter the hero Quillo shared his bread. Nobody was hungry, thanks to Quillo.',
  'The owl asked for the name of the hero. "Quillo," said all the animals.',
  'The hero Quillo lost his hat in the wind. A squirrel brought it back to Quillo.',
  'And so the hero Quillo came home. Everyone in the wood was happy for Quillo.',
];

/** Twenty examples, as chats. */
export const SAMPLE = ANSWERS.map((content, at) => ({
  messages: [
    { role: 'user', content: QUESTIONS[at % QUESTIONS.length] },
    { role: 'assistant', content },
  ],
}));

/** The same for a model without a chat template. */
export const SAMPLE_TEXTS = ANSWERS.map((text) => ({ text }));

export const SAMPLE_PROMPT = 'Tell me a story about a hero.';
