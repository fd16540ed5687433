/** Does tasks side by side, so many at a time; resolves with what came of each, in their order. */
export async function inLanes<T, R>(
  lanes: number,
  tasks: readonly T[],
  work: (task: T) => Promise<R>,
): Promise<R[]> {
  const left = [...tasks.entries()].reverse();
  const results: R[] = [];
  const lane = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop()) results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
