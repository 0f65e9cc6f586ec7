import { writeStory } from './story.js';

writeStory();
