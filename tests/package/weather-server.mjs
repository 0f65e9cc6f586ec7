// A server of MCP over HTTP with one tool, which pages of any origin may use.

import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { LIBRARIES } from './install.mjs';

const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST, DELETE',
  'Access-Control-Allow-Headers': 'Content-Type, Accept, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-ID',
  'Access-Control-Expose-Headers': 'Mcp-Session-Id',
};

/** What a library of libraries/tools.json or of tools.json exports. */
export const library = (name) =>
  import(pathToFileURL(createRequire(path.join(LIBRARIES, 'run', 'x.mjs')).resolve(name)).href);

/** Starts it. `sessions` are those that clients have begun; `close` ends all. */
export async function weatherServer() {
  const { McpServer } = await library('@modelcontextprotocol/sdk/server/mcp.js');
  const { StreamableHTTPServerTransport } = await library('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const { z } = await library('zod');
  const sessions = new Map();
  const begin = async () => {
    const weather = new McpServer({ name: 'weather', version: '1.0.0' });
    const look = { description: 'Looks', inputSchema: { city: z.string() }, annotations: { readOnlyHint: true } };
    weather.registerTool('look', look, ({ city }) => ({ content: [{ type: 'text', text: `sun in ${city}` }] }));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => `s${sessions.size}`,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await weather.connect(transport);
    return transport;
  };
  const server = http.createServer(async (request, response) => {
    for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') return response.writeHead(204).end();
    const transport = sessions.get(request.headers['mcp-session-id']) ?? (await begin());
    await transport.handleRequest(request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { sessions, close, url: `http://127.0.0.1:${server.address().port}/mcp` };
}
