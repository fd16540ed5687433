import type { Request } from 'express';

/** Characters. */
const LONGEST = 256;

/** A request that was refused at once has not been Express's, and lacks what Express adds. */
type Sent = Pick<Request, 'url'> & Partial<Pick<Request, 'originalUrl'>>;

/** The first 256 characters of the path, without its query, which may hold what is not for the log. */
export function pathOf({ url, originalUrl = url }: Sent): string {
  return (originalUrl.split('?', 1)[0] ?? '').slice(0, LONGEST);
}
