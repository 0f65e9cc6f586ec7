// What the model may do: each tool says what it is for, what it takes, and does it.

export const tools = [
  {
    name: 'roll_dice',
    description: 'Rolls dice and returns what they show',
    inputSchema: {
      type: 'object',
      properties: {
        count: { type: 'integer', minimum: 1, maximum: 6, description: 'how many dice' },
        sides: { enum: [4, 6, 8, 12, 20], description: 'sides of each' },
      },
      required: ['count', 'sides'],
      additionalProperties: false,
    },
    execute: ({ count, sides }) => ({
      dice: Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides)),
    }),
  },
  {
    name: 'get_time',
    description: 'Returns the date and the time of a city',
    inputSchema: {
      type: 'object',
      properties: { timeZone: { enum: ['Europe/Rome', 'America/New_York', 'Asia/Tokyo'] } },
      required: ['timeZone'],
      additionalProperties: false,
    },
    execute: ({ timeZone }) => new Date().toLocaleString('en-GB', { timeZone, dateStyle: 'full', timeStyle: 'short' }),
  },
];
