// A chat of `webgguf/vue` in a component of Vue.

import { createApp, ref } from 'vue';
import { useChat, useModel } from 'webgguf/vue';

function Chat() {
  const source = ref('/models/storyteller.gguf');
  const { model, status, progress } = useModel(source, { backend: 'cpu', worker: true });
  const chat = useChat(model, { max_completion_tokens: 500 });
  return { ...chat, loading: status, progress, leave: () => (source.value = null) };
}

const template = `
  <output>{{ loading }} {{ status }}</output>
  <p v-for="message in messages" :key="message.id" :class="message.role">{{ message.content }}</p>
  <button @click="send('Tell me about a hare.')">Send</button>
  <button @click="stop">Stop</button>
  <button @click="leave">Leave</button>`;

export function show(place) {
  createApp({ setup: Chat, template }).mount(place);
}
