// Plan, then act: the model writes a plan by a schema, each of its steps becomes a call of a tool, and at the end the
// model says what was done.
import { chatTools } from 'webgguf/mcp';

const MOST_STEPS = 5;
/** Steps that failed, were refused included, before the agent gives up. */
const MOST_FAILURES = 3;
/** No white space in JSON, on which a small model may spend its tokens. */
const TIGHT = { 'x-guidance': { whitespace_flexible: false } };
/** No thoughts, and always the likeliest token. */
const EXACT = { reasoning_effort: 'none', temperature: 0 };
const BRIEF = 'You keep the task list of a person. Do what is asked and nothing else.';

/** A plan as JSON: which tool, and what for. */
function planSchema(tools) {
  const step = {
    type: 'object',
    properties: {
      purpose: { type: 'string', minLength: 3, maxLength: 60 },
      tool: { enum: tools.map(({ name }) => name) },
    },
    required: ['purpose', 'tool'],
    additionalProperties: false,
  };
  const steps = { type: 'array', items: step, minItems: 1, maxItems: MOST_STEPS };
  const schema = { type: 'object', properties: { steps }, required: ['steps'], additionalProperties: false };
  return {
    type: 'json_schema',
    json_schema: { name: 'plan', strict: true, schema: { ...schema, ...TIGHT } },
  };
}

async function plan(model, task, tools, signal) {
  const list = tools.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  const form = 'Write a plan as JSON, one step for each call of a tool: {"steps": [{"purpose": …, "tool": …}]}';
  const content = `${task}\n\nTools:\n${list}\n\n${form}`;
  const messages = [
    { role: 'system', content: BRIEF },
    { role: 'user', content },
  ];
  const request = {
    messages,
    response_format: planSchema(tools),
    max_completion_tokens: 400,
    ...EXACT,
  };
  const { choices } = await model.chat.completions.create(request, { signal });
  const [{ message, finish_reason: reason }] = choices;
  if (reason !== 'stop') throw new Error('The plan did not come to an end.');
  return JSON.parse(message.content).steps;
}

/** The call of one tool, whose arguments the model writes by the tool's schema. */
async function callFor({ purpose, tool }, { model, messages, tools, signal }) {
  const asked = [...messages, { role: 'user', content: `Now: ${purpose}. Call ${tool}.` }];
  const wanted = tools.filter(({ name }) => name === tool);
  const request = {
    messages: asked,
    tools: chatTools(wanted.map((each) => ({ ...each, inputSchema: { ...each.inputSchema, ...TIGHT } }))),
    tool_choice: { type: 'function', function: { name: tool } },
    parallel_tool_calls: false,
    max_completion_tokens: 200,
    ...EXACT,
  };
  const { choices } = await model.chat.completions.create(request, { signal });
  const [{ message, finish_reason: reason }] = choices;
  if (reason !== 'tool_calls' || !message.tool_calls?.[0])
    throw new Error(`The call of ${tool} did not come to an end.`);
  return { message, call: message.tool_calls[0], asked };
}

/**
 * Does a task.
 *
 * @param {{model, task: string, tools: object[], signal: AbortSignal, onEvent: (event: object) => void}} options
 *   `onEvent` hears of `{ type: 'plan', steps }`, of each step's `{ type: 'calling' | 'call' | 'result' | 'failed',
 *   at, … }`, and of the `{ type: 'answer', text }`
 */
export async function work({ model, task, tools, signal, onEvent }) {
  const steps = await plan(model, task, tools, signal);
  onEvent({ type: 'plan', steps });
  let messages = [
    { role: 'system', content: BRIEF },
    { role: 'user', content: task },
  ];
  let failures = 0;
  for (const [at, step] of steps.entries()) {
    onEvent({ type: 'calling', at });
    const { message, call, asked } = await callFor(step, { model, messages, tools, signal });
    const input = call.function.arguments;
    onEvent({ type: 'call', at, name: step.tool, input });
    const { text, isError } = await resultOf(step.tool, input, tools, signal);
    onEvent({ type: isError ? 'failed' : 'result', at, text });
    messages = [...asked, message, { role: 'tool', tool_call_id: call.id, name: step.tool, content: text }];
    if (isError) failures += 1;
    if (failures === MOST_FAILURES) throw new Error(`${failures} steps failed: the agent gives up.`);
  }
  const last = { role: 'user', content: 'Say in one sentence what was done, and what was not.' };
  const request = { messages: [...messages, last], max_completion_tokens: 80, ...EXACT, stream: true };
  for await (const { choices } of await model.chat.completions.create(request, { signal })) {
    onEvent({ type: 'answer', text: choices[0]?.delta.content ?? '' });
  }
}

/** What a tool gives; where it fails or was refused, the model is told why, and so is the visitor. */
async function resultOf(name, input, tools, signal) {
  try {
    return {
      text: await tools.find((tool) => tool.name === name).execute(JSON.parse(input), { signal }),
      isError: false,
    };
  } catch (failure) {
    signal.throwIfAborted();
    return { text: `error: ${failure.message}`, isError: true };
  }
}
