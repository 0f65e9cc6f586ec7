// The runtime of the guide, around components of assistant-ui.

import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAuiState,
} from '@assistant-ui/react';
import { createRoot } from 'react-dom/client';
import { WasmModel } from 'webgguf';
import { useWebgguf } from './runtime.jsx';

const said = (role) => () => (
  <MessagePrimitive.Root className={role}>
    <MessagePrimitive.Parts />
  </MessagePrimitive.Root>
);
const components = { UserMessage: said('user'), AssistantMessage: said('assistant') };

const Status = () => (
  <output>{useAuiState(({ thread }) => (thread.isRunning ? 'ready writing' : 'ready idle'))}</output>
);

const Assistant = () => (
  <AssistantRuntimeProvider runtime={useWebgguf()}>
    <Status />
    <ThreadPrimitive.Messages components={components} />
    <ComposerPrimitive.Root>
      <ComposerPrimitive.Input />
      <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
      <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
    </ComposerPrimitive.Root>
  </AssistantRuntimeProvider>
);

export async function show(place) {
  window.model = await WasmModel.load('/models/storyteller.gguf', { backend: 'cpu', worker: true });
  createRoot(place).render(<Assistant />);
}
