/** The stack of a fault and of what caused it. Not util.inspect(), which shows a query's plants. */
export function stackOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  const stack = fault.stack ?? fault.message;
  return fault.cause === undefined ? stack : `${stack}\ncaused by ${stackOf(fault.cause)}`;
}
