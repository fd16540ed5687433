/** What an error says, in one line: one for several addresses of a host has no message of its own. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describeError).join('; ');
  }
  return (error instanceof Error ? error.message : String(error)).replace(/\s*\n\s*/g, ' ');
}
