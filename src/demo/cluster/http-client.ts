import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';

/** A request as it goes out. */
export interface OutgoingRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Sent as JSON unless undefined. */
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Texts of the Warning headers. */
  readonly warnings: readonly string[];
  readonly text: string;
  /** The body as JSON; undefined where it is none. Its shape is what the caller expects. */
  readonly body: AnswerBody;
}

/** Fields of a Status and of an object that callers look at; any may be missing. */
export interface AnswerBody {
  readonly kind?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly items?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly [field: string]: unknown;
}

/** A small client of the sandbox: whatever comes back is an answer, only a broken connection is an error. */
export class HttpClient {
  readonly #agent: Agent;

  /** @param ca the server's authority, PEM */
  constructor(ca: string) {
    this.#agent = new Agent({ keepAlive: true, ca });
  }

  /** Sends one request. Rejects where the connection fails before the answer is complete. */
  async send(server: string, { method, path, body, headers }: OutgoingRequest): Promise<Answer> {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    return await new Promise((resolve, reject) => {
      const outgoing = request(new URL(path, server), {
        method,
        agent: this.#agent,
        headers: {
          ...(payload === undefined ? {} : { 'content-type': type, 'content-length': payload.length }),
          ...headers,
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, headers, warnings: warningsOf(headers), text, body: parsed(text) });
        });
      });
      outgoing.end(payload);
    });
  }

  /** Closes the kept connections. */
  close(): void {
    this.#agent.destroy();
  }
}

function warningsOf({ warning }: IncomingHttpHeaders): string[] {
  return [...(warning ?? '').matchAll(/299 - "(?<text>(?:[^"\\]|\\.)*)"/g)].map((match) =>
    (match.groups?.['text'] ?? '').replaceAll(/\\(.)/g, '$1'),
  );
}

function parsed(text: string): AnswerBody {
  try {
    return JSON.parse(text) as AnswerBody;
  } catch {
    return {};
  }
}
