process.on('uncaughtException', ({ message, cause }) => {
  const reason = Object(cause) as { code?: string; message?: string };
  console.error(message, reason.code ?? reason.message ?? '');
  process.exit(1);
});

export const { BASE_URL = '', TOKEN = '' } = process.env;
if (!BASE_URL || !TOKEN) throw new Error('BASE_URL and TOKEN are not set: export them first');

/** JSON text with every digit of bigints. */
export function toJson(body: unknown): string {
  return JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
  );
}

/** Status, number and message of a response; status and body if a proxy sent it. */
export function describe(status: number, body: unknown): string {
  const { error, message } = Object(body) as { error?: number; message?: string };
  return `${status} ${message === undefined ? String(body) : `${error}: ${message}`}`;
}

/** Like fetch(), but sends up to five times, unless Retry-After is beyond a minute. */
export async function fetchAgain(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  for (let seconds = 1; ; seconds *= 2) {
    const isLast = seconds > 8;
    let retryAfter = 0;
    try {
      const response = await fetch(request.clone(), { signal: AbortSignal.timeout(30_000) });
      const { status, headers } = response;
      retryAfter = Number(headers.get('retry-after')) || 0;
      const isFinal = status !== 408 && status !== 429 && status < 500;
      if (isLast || isFinal || retryAfter > 60) return response;
    } catch (error) {
      if (isLast) throw error;
    }
    const wait = Math.max(seconds, retryAfter);
    await new Promise((resolve) => setTimeout(resolve, 1_000 * wait));
  }
}

declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}
