import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { bodyOf, type Plant } from './plants.js';

/** What came of a request. */
export type Answer =
  | { readonly kind: 'acknowledged' }
  /** 503, with the number of the error. */
  | { readonly kind: 'refused'; readonly error: number }
  /** The connection broke before the answer was there. */
  | { readonly kind: 'unknown' }
  /** There was no connection, so nothing was sent. */
  | { readonly kind: 'unreachable' }
  /** An answer that must never come. */
  | { readonly kind: 'wrong'; readonly what: string };

/** Far beyond what a request may take: it has hung. */
const HUNG = 20_000;

/** Sends plants over keep-alive connections. */
export class Client {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly headers: Record<string, string>;

  constructor(
    private readonly url: string,
    token: string,
  ) {
    this.headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  }

  async send(plant: Plant): Promise<Answer> {
    try {
      const response = await this.post(bodyOf(plant));
      return judge(plant, response, await text(response));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (message === 'hung') return { kind: 'wrong', what: `no answer for ${HUNG} ms` };
      return { kind: code === 'ECONNREFUSED' ? 'unreachable' : 'unknown' };
    }
  }

  close(): void {
    this.agent.destroy();
  }

  private post(body: string): Promise<IncomingMessage> {
    const { agent, headers } = this;
    return new Promise((resolve, reject) => {
      const sent = request(`${this.url}/plants`, { agent, headers, method: 'POST' }, resolve);
      sent.setTimeout(HUNG, () => sent.destroy(new Error('hung')));
      sent.on('error', reject).end(body);
    });
  }
}

function judge({ name, tag }: Plant, response: IncomingMessage, body: string): Answer {
  const { statusCode = 0, headers } = response;
  const expected = JSON.stringify({ name, ...(tag !== null && { tag }) });
  if (statusCode === 200 && body === expected) return { kind: 'acknowledged' };
  if (statusCode === 503 && headers['retry-after'] !== undefined) {
    const { error } = JSON.parse(body) as { error: number };
    return { kind: 'refused', error };
  }
  return { kind: 'wrong', what: `${statusCode} ${body}` };
}
