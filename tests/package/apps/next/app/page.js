'use client';

import { useEffect } from 'react';
import { writeStory } from './story.js';

// Rendered on the server, too: importing webgguf there has to be harmless.
export default function Page() {
  useEffect(() => {
    writeStory();
  }, []);
  return <pre id="output" />;
}
