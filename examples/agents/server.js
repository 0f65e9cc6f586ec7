// A server of MCP in the page: a list of tasks. Another one, over HTTP, would be used in the same way.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
/** The most that a list holds: what a model does again and again must end. */
const MOST = 20;

/**
 * Starts the server and connects a client to it.
 *
 * @param {(tasks: {id: number, title: string, day: string, done: boolean}[]) => void} onChange hears of every change
 */
export async function connect(onChange) {
  const server = new McpServer({ name: 'tasks', version: '1.0.0' });
  addTools(server, onChange);
  const client = new Client({ name: 'page', version: '1.0.0' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  return client;
}

function addTools(server, onChange) {
  let tasks = [
    { id: 1, title: 'repair the bicycle', day: 'Monday', done: false },
    { id: 2, title: 'call Ingrid', day: 'Tuesday', done: false },
  ];
  const change = (next, words) => {
    tasks = next;
    onChange(tasks);
    return say(words);
  };
  const wanted = (id) => {
    const task = tasks.find((each) => each.id === id);
    if (!task)
      throw new Error(`there is no task ${id}; there are ${tasks.map((each) => each.id).join(', ') || 'none'}`);
    return task;
  };
  const id = z.number().int().min(1).max(99).describe('the id that list_tasks gives');
  /** Strict: a grammar lets the model write no argument but these. */
  const tool = (name, description, fields, annotations, work) => {
    const inputSchema = z.strictObject(fields);
    server.registerTool(name, { title: description, description, inputSchema, annotations }, work);
  };

  tool('list_tasks', 'Gives all tasks', {}, { readOnlyHint: true }, () => say(JSON.stringify(tasks)));
  const fields = { title: z.string().min(1).max(60), day: z.enum(DAYS) };
  tool('add_task', 'Adds a task', fields, { destructiveHint: false }, ({ title, day }) => {
    if (tasks.length >= MOST) throw new Error(`the list is full: it holds ${MOST} tasks`);
    const next = 1 + Math.max(0, ...tasks.map((each) => each.id));
    return change([...tasks, { id: next, title, day, done: false }], `added as task ${next}`);
  });
  tool('finish_task', 'Marks a task as done', { id }, { destructiveHint: false }, (input) => {
    const task = wanted(input.id);
    const next = tasks.map((each) => (each === task ? { ...each, done: true } : each));
    return change(next, `task ${task.id} is done`);
  });
  tool('delete_task', 'Deletes a task for good', { id }, { destructiveHint: true }, (input) => {
    const task = wanted(input.id);
    const next = tasks.filter((each) => each !== task);
    return change(next, `deleted task ${task.id}`);
  });
  onChange(tasks);
}

const say = (text) => ({ content: [{ type: 'text', text }] });
