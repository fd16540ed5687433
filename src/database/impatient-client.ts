import { Client, type ClientConfig } from 'pg';

type Query = (this: Client, ...args: unknown[]) => unknown;

/**
 * A connection that closes itself when a statement gets no answer within `query_timeout`. The driver
 * leaves it open, and the pool would lend it again, to wait behind the statement that hangs.
 */
export class ImpatientClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    // A server that ends may say so between two statements, and no one else may be listening; the
    // next statement fails, and the pool lends the connection no more.
    this.on('error', () => undefined);
  }
}

const { query } = Client.prototype as unknown as { readonly query: Query };

// Assigned, since the method has a dozen overloads.
ImpatientClient.prototype.query = function (this: Client, ...args: unknown[]) {
  const result = query.apply(this, args);
  if (result instanceof Promise) result.catch((error: unknown) => closeOnTimeout(this, error));
  return result;
} as Client['query'];

function closeOnTimeout(client: Client, error: unknown): void {
  if (error instanceof Error && error.message === 'Query read timeout') void client.end();
}
