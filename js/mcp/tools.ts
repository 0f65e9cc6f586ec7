/**
 * Tools, resources and prompts of MCP servers.
 */
import { show } from '../check.js';
import { invalidArgument } from '../errors.js';
import { checkConsent, consented } from './consent.js';
import { fieldsOf, listIn, promptMessages, resourceText, resultText, textIn } from './content.js';
import type { McpClient, McpOptions, McpPrompt, McpTool } from './types.js';

/** Most pages of a list that are asked for: a server may have no last one. */
const MOST_PAGES = 100;
/** Most resources that are named to the model. */
const MOST_NAMED = 50;
const READ = 'read_resource';

type Made = Omit<McpTool, 'execute'> & { readonly call: (input: unknown, signal?: AbortSignal) => Promise<string> };

/**
 * The tools of an MCP server, or of several, for `runTools`, `useChat` and {@link chatTools}; where a server has
 * resources, also one that reads these.
 *
 * @param clients clients of `@modelcontextprotocol/sdk` that are connected
 * @throws {WebggufError} `invalid_argument`, also where tools may change something and there is no `onToolCall`
 *
 * @example
 * const tools = await mcpTools(client, { onToolCall: ({ readOnly, name }) => readOnly || confirm(`Run ${name}?`) });
 * const { text } = await model.runTools(messages, { tools });
 */
export async function mcpTools(
  clients: McpClient | readonly McpClient[],
  options: McpOptions = {},
): Promise<McpTool[]> {
  const { onToolCall, resources = true, signal } = options;
  const list = ([clients].flat() as McpClient[]).map(checked);
  const found = await Promise.all(list.map((client) => toolsOf(client, resources, signal)));
  const made = withOwnNames(found.flat());
  checkConsent('mcpTools', made, onToolCall);
  return made.map(({ call, ...tool }) => ({
    ...tool,
    async execute(input, more) {
      const { name, title, server, readOnly } = tool;
      await consented(onToolCall, { name, title, server, readOnly, input });
      return call(input, more?.signal);
    },
  }));
}

/**
 * The prompts of an MCP server, which users choose: their messages begin or go on with a conversation.
 *
 * @example
 * const [prompt] = await mcpPrompts(client);
 * const { text } = await model.generate(await prompt.messages({ city: 'Rome' }));
 */
export async function mcpPrompts(client: McpClient, options: { signal?: AbortSignal } = {}): Promise<McpPrompt[]> {
  checked(client);
  if (!client.getServerCapabilities?.()?.prompts || !client.listPrompts) return [];
  const prompts = await all('prompts', (params) => client.listPrompts?.(params, options));
  return prompts.flatMap((prompt): McpPrompt[] => {
    const { name, title, description } = prompt;
    if (typeof name !== 'string') return [];
    return [
      {
        name,
        title: textIn(title),
        description: textIn(description),
        arguments: listIn(prompt, 'arguments') as unknown as McpPrompt['arguments'],
        messages: async (values = {}, more = {}) =>
          promptMessages(await client.getPrompt?.({ name, arguments: values }, more)),
      },
    ];
  });
}

function checked(client: McpClient): McpClient {
  if (typeof client?.listTools === 'function' && typeof client.callTool === 'function') return client;
  throw invalidArgument(`mcpTools: expected a client with listTools and callTool, found ${show(client)}`);
}

async function toolsOf(client: McpClient, withResources: boolean, signal?: AbortSignal): Promise<Made[]> {
  const options = signal ? { signal } : {};
  const server = client.getServerVersion?.()?.name ?? 'server';
  const listed = await all('tools', (params) => client.listTools(params, options));
  const tools = listed.flatMap((tool): Made[] => {
    const { name, title, description, inputSchema, annotations } = tool;
    if (typeof name !== 'string') return [];
    const hints = fieldsOf(annotations) as { title?: unknown; readOnlyHint?: unknown };
    return [
      {
        name,
        title: textIn(title) ?? textIn(hints.title),
        description: textIn(description) ?? '',
        inputSchema: { type: 'object', ...fieldsOf(inputSchema) },
        readOnly: hints.readOnlyHint === true,
        server,
        call: async (input, scope) => {
          const params = { name, arguments: fieldsOf(input) as Record<string, unknown> };
          return resultText(await client.callTool(params, undefined, scope ? { signal: scope } : {}));
        },
      },
    ];
  });
  const reader = withResources ? await readerOf(client, server, options) : undefined;
  return reader ? [...tools, reader] : tools;
}

/** A tool that reads resources, whose description names these. */
async function readerOf(
  client: McpClient,
  server: string,
  options: { signal?: AbortSignal },
): Promise<Made | undefined> {
  if (!client.getServerCapabilities?.()?.resources || !client.listResources || !client.readResource) return undefined;
  const resources = await all('resources', (params) => client.listResources?.(params, options));
  const named = resources.slice(0, MOST_NAMED).flatMap(({ uri, name, description }) => {
    if (typeof uri !== 'string') return [];
    const said = [textIn(name), textIn(description)].filter(Boolean).join(', ');
    return [said ? `${uri}: ${said}` : uri];
  });
  return {
    name: READ,
    title: undefined,
    description: ['Reads a resource by its uri. Known resources:', ...named].join('\n'),
    inputSchema: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    readOnly: true,
    server,
    call: async (input, signal) => {
      const { uri } = fieldsOf(input);
      return resourceText(await client.readResource?.({ uri: String(uri) }, signal ? { signal } : {}));
    },
  };
}

/** All pages of a list. */
async function all(field: string, page: (params: { cursor?: string }) => Promise<unknown> | undefined) {
  const found: Readonly<Record<string, unknown>>[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < MOST_PAGES; count += 1) {
    const result = await page(cursor === undefined ? {} : { cursor });
    found.push(...listIn(result, field));
    const { nextCursor } = fieldsOf(result);
    cursor = textIn(nextCursor);
    if (!cursor) return found;
  }
  throw invalidArgument(`mcpTools: the server's list of ${field} has more than ${MOST_PAGES} pages`);
}

/** Tools of one name get the name of their server before it. */
function withOwnNames(tools: readonly Made[]): Made[] {
  const isAlone = (name: string): boolean => tools.filter((tool) => tool.name === name).length === 1;
  const named = tools.map((tool) => {
    const own = `${tool.server.replaceAll(/[^\w-]+/g, '_')}_${tool.name}`;
    return isAlone(tool.name) ? tool : { ...tool, name: own };
  });
  const twice = named.find(({ name }, place) => named.findIndex((other) => other.name === name) !== place);
  if (twice) throw invalidArgument(`mcpTools: two tools of servers named '${twice.server}' are '${twice.name}'`);
  return named;
}
