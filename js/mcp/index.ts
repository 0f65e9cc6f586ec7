/**
 * webgguf/mcp: tools, resources and prompts of MCP servers for a model in the page, and WebMCP in both directions. The
 * client is one of `@modelcontextprotocol/sdk`, which the page brings.
 *
 * @module webgguf/mcp
 */
export { callTools, chatTools } from './chat.js';
export { mcpPrompts, mcpTools } from './tools.js';
export type { McpCall, McpClient, McpOptions, McpPrompt, McpTool, OnToolCall } from './types.js';
export { type OfferOptions, offerTools, type WebMcpOptions, webMcpTools } from './web.js';
