// A chat of `webgguf/svelte` in a component of Svelte.

import { mount } from 'svelte';
import Chat from './Chat.svelte';

export function show(target) {
  mount(Chat, { target });
}
