import type { Error as ErrorBody } from './generated.ts';
import { BASE_URL, fetchAgain, TOKEN, toJson } from './http.ts';

export class RequestError extends Error {
  status: number;
  body: ErrorBody;

  constructor(status: number, body: ErrorBody) {
    super(body.message);
    this.status = status;
    this.body = body;
  }
}

type Request = { url: string; method: string; headers: Record<string, string>; data: unknown };

export async function request<T>({ url, method, headers, data }: Request): Promise<T> {
  const response = await fetchAgain(BASE_URL + url, {
    method,
    headers: { ...headers, authorization: `Bearer ${TOKEN}` },
    body: toJson(data),
  });
  const body = await response.json();
  if (!response.ok) throw new RequestError(response.status, body as ErrorBody);
  return body as T;
}
