/**
 * Conversations as text, for an engine: what few templates use is loaded where the model's template uses it.
 */
import { guarded } from '../errors.js';
import { chatText } from './protected-text.js';
import { enter, NotLoaded } from '../templates/more.js';
import { files } from './files.js';

/** See {@link chatText}. @internal */
export async function conversationText(...of: Parameters<typeof chatText>): Promise<string> {
  const write = (): string => guarded(() => chatText(...of));
  try {
    return write();
  } catch (error) {
    if (!(error instanceof NotLoaded)) throw error;
  }
  enter((await files.rareTemplates()).MORE);
  return write();
}
