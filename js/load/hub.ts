/**
 * Files of Hugging Face's hub by their short names: `hf:owner/repo/file.gguf`, `owner/repo:Q4_K_M`.
 */
import { fetchPatiently, type Patience, patienceOf, Stalled } from './patience.js';
import { WebggufError, invalidArgument } from '../errors.js';

/** Where the hub is, unless a page has a mirror. */
const HUB = 'https://huggingface.co';
/** The quantisations to take if none is named, in this order; then the first by name. */
const USUAL = ['Q4_K_M', 'Q8_0'];
/** Pages of a listing, of a thousand files each. */
const MOST_PAGES = 20;

/** How the hub is asked. */
export interface HubOptions extends Partial<Patience> {
  /** Address of the hub or a mirror. */
  readonly hub?: string | undefined;
  /** Access token for gated and private repositories. */
  readonly token?: string | undefined;
}

/** A file, or a choice of one, on the hub. @internal */
export interface HubName {
  /** `owner/name`. */
  readonly repo: string;
  readonly revision: string;
  /** Path of the file in the repository. */
  readonly file?: string | undefined;
  /** Where no file is named: its quantisation, such as `Q4_K_M`. */
  readonly quantization?: string | undefined;
}

const REPO = String.raw`(?<repo>[\w-][\w.-]*\/[\w-][\w.-]*)`;
const WITH_PREFIX = new RegExp(
  String.raw`^hf:(?:\/\/)?${REPO}(?:@(?<revision>[\w.-]+))?(?:\/(?<file>[^?#]+)|:(?<quantization>[\w.-]+))?$`,
);
const WITHOUT = new RegExp(String.raw`^${REPO}(?:@(?<revision>[\w.-]+))?:(?<quantization>[\w.-]+)$`);
/** A repository by its name alone, or an address relative to the page that has no ending. */
const AMBIGUOUS = new RegExp(String.raw`^(?!.*\.gguf$)${REPO}$`, 'i');
/** Pages that people copy the address of: a repository, a branch of it, a file. */
const PAGE = new RegExp(
  String.raw`^https?:\/\/(?:www\.)?(?:huggingface\.co|hf\.co)\/${REPO}` +
    String.raw`(?:\/tree\/(?<branch>[^/?#]+)|\/blob\/(?<revision>[^/?#]+)\/(?<file>[^?#]+))?\/?(?:[?#].*)?$`,
);

/** What a string means on the hub; `undefined` where it is a URL. @internal */
export function parseHubName(text: string): HubName | undefined {
  const page = PAGE.exec(text)?.groups;
  if (page) return pageName(page);
  const { repo, revision, file, quantization } = (WITH_PREFIX.exec(text) ?? WITHOUT.exec(text))?.groups ?? {};
  return repo === undefined ? undefined : { repo, revision: revision ?? 'main', file, quantization };
}

/** A page of the hub, whose address is escaped. */
function pageName({ repo = '', branch, revision, file }: Record<string, string | undefined>): HubName | undefined {
  try {
    return {
      repo,
      revision: decodeURIComponent(branch ?? revision ?? 'main'),
      file: file && decodeURIComponent(file),
      quantization: undefined,
    };
  } catch {
    return undefined;
  }
}

/**
 * As `parseHubName`, for a name that is about to be asked for.
 *
 * @throws {WebggufError} `invalid_argument` for a name that leaves its repository, or may be an address as well
 * @internal
 */
export function hubName(text: string): HubName | undefined {
  const name = parseHubName(text);
  if (name && [name.revision, name.file ?? ''].some(hasDots)) {
    throw invalidArgument(`'${text}': a revision or file of the hub has no '.' or '..' in its path`);
  }
  if (!AMBIGUOUS.test(text)) return name;
  throw invalidArgument(`'${text}': write 'hf:${text}' for a repository of the hub, './${text}' for an address`);
}

const hasDots = (path: string): boolean => path.split('/').some((part) => part === '.' || part === '..');

/** A name without a file as one string, the same however it was written. @internal */
export function aliasOf({ repo, revision, quantization }: HubName, hub: string | undefined): string {
  const base = baseOf(hub);
  return `${base === HUB ? '' : `${base} `}${repo}@${revision}:${quantization?.toUpperCase() ?? ''}`;
}

const baseOf = (hub = HUB): string => hub.replace(/\/+$/, '');

/** The request for a file of a repository. @internal */
export function fileRequest({ repo, revision }: HubName, file: string, options: HubOptions): Request {
  const path = file.split('/').map(encodeURIComponent).join('/');
  return hubRequest(`/${repo}/resolve/${encodeURIComponent(revision)}/${path}`, options);
}

/**
 * The path of the file that `name` means: of a split file the first part.
 *
 * @throws {WebggufError} `download_failed` where the repository or such a file is not there, or may not be read
 * @internal
 */
export async function chooseFile(name: HubName, options: HubOptions, signal: AbortSignal): Promise<string> {
  const files = (await listFiles(name, options, signal)).filter(isModel).sort(byLength);
  const wanted = name.quantization ? [name.quantization] : USUAL;
  const found = wanted.map((quantization) => files.find((file) => hasQuantization(file, quantization))).find(Boolean);
  const file = found ?? (name.quantization ? undefined : files[0]);
  if (file) return file;
  const known = [...new Set(files.map(quantizationOf))].filter(Boolean).sort().join(', ');
  const what = name.quantization ? `no GGUF file with ${name.quantization}` : 'no GGUF file';
  throw failed(name, `${what}${known ? `; there are ${known}` : ''}`);
}

/** Quantisations of image encoders: the smallest one that hardly loses quality comes first. */
const USUAL_ENCODER = ['Q8_0', 'F16', 'BF16'];

/**
 * The path of an encoder of images in the repository.
 *
 * @throws {WebggufError} `download_failed` where there is none
 * @internal
 */
export async function chooseEncoder(name: HubName, options: HubOptions, signal: AbortSignal): Promise<string> {
  const all = await listFiles(name, options, signal);
  const files = all.filter((path) => /mmproj[^/]*\.gguf$/i.test(path) && !hasDots(path)).sort(byLength);
  const usual = USUAL_ENCODER.map((label) => files.find((file) => hasQuantization(file, label))).find(Boolean);
  const file = usual ?? files[0];
  if (file) return file;
  throw failed(name, 'no file of an encoder of images, mmproj-….gguf');
}

/** All GGUF files but projectors of images, matrices for quantising, and later parts of split files. */
function isModel(path: string): boolean {
  if (!/\.gguf$/i.test(path) || hasDots(path) || /mmproj|imatrix/i.test(path)) return false;
  const split = /-(\d{5})-of-\d{5}\.gguf$/i.exec(path);
  return !split || Number(split[1]) === 1;
}

/** `Q4_K_M` is no part of `IQ4_K_M`; shorter paths come first, so that it is not `UD-Q4_K_M` where both are there. */
function hasQuantization(path: string, quantization: string): boolean {
  const plain = quantization.replaceAll(/[.-]/g, String.raw`\$&`);
  return new RegExp(`(^|[-._/])${plain}(?=[-._/])`, 'i').test(path);
}

const byLength = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : 1);

/** The label in a file's name, to tell a person what there is. */
function quantizationOf(path: string): string {
  const labels = path.toUpperCase().match(/(?<=[-._/])(I?Q\d\w*|TQ\d\w*|MXFP4\w*|NVFP4|BF16|F16|F32)(?=[-._/])/g);
  return labels?.at(-1) ?? '';
}

async function listFiles(name: HubName, options: HubOptions, signal: AbortSignal): Promise<string[]> {
  const files: string[] = [];
  const path = `/api/models/${name.repo}/tree/${encodeURIComponent(name.revision)}`;
  let query: string | undefined = '?recursive=true';
  for (let page = 0; query !== undefined && page < MOST_PAGES; page += 1) {
    const response: Response = await ask(name, path + query, options, signal);
    const entries: unknown = await response.json().catch(() => undefined);
    if (!Array.isArray(entries)) throw failed(name, 'the hub gave no list of files');
    for (const entry of entries) {
      if (entry?.type === 'file' && typeof entry.path === 'string') files.push(entry.path);
    }
    query = nextPage(response);
  }
  return files;
}

/** The query of the next page in a `Link` header: a mirror may have another address than the header. */
function nextPage(response: Response): string | undefined {
  const link = /<([^>]+)>;\s*rel="?next/.exec(response.headers.get('link') ?? '')?.[1];
  if (link === undefined) return undefined;
  return new URL(link, response.url).search;
}

async function ask(name: HubName, path: string, options: HubOptions, signal: AbortSignal): Promise<Response> {
  const request = hubRequest(path, options);
  let response: Response;
  try {
    response = await fetchPatiently(() => request.clone(), signal, patienceOf(options));
  } catch (cause) {
    signal.throwIfAborted();
    const why = cause instanceof Stalled ? cause.message : 'could not be reached';
    throw failed(name, `the hub at ${new URL(request.url).origin}: ${why}`, cause);
  }
  if (response.ok) return response;
  const status = `HTTP status ${response.status}`;
  const hints: Record<number, string> = {
    401: "no such repository, or it is private or gated: check the name, or give an access token (option 'token')",
    403: "the access token may not read it: accept the terms on the model's page",
    404: 'no such repository or revision',
  };
  const reason = response.headers.get('x-error-message');
  throw failed(name, [status, reason, hints[response.status]].filter(Boolean).join(': '));
}

function hubRequest(path: string, { hub, token }: HubOptions): Request {
  return withToken(baseOf(hub) + path, token);
}

/** The request for a file that was stored from the hub; `undefined` where it came from elsewhere. @internal */
export function storedRequest(url: string, { hub, token }: HubOptions): Request | undefined {
  return url.startsWith(`${baseOf(hub)}/`) ? withToken(url, token) : undefined;
}

/** A request with the access token, if there is one. */
function withToken(url: string, token: string | undefined): Request {
  return new Request(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
}

function failed({ repo }: HubName, what: string, cause?: unknown): WebggufError {
  return new WebggufError('download_failed', `${repo}: ${what}`, { cause });
}
