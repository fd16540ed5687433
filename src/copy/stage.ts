import { barOf, Progress } from '../import/progress.js';

/** Shows on stderr how far some work on so many plants is, while it lasts. */
export async function inStage<Result>(
  name: string,
  total: number,
  work: (advance: (plants: number) => void) => Promise<Result>,
): Promise<Result> {
  let done = 0;
  const line = (seconds: number) => stageLine(name, done, total, seconds);
  const progress = new Progress(line, process.stderr);
  try {
    return await work((plants) => (done += plants));
  } finally {
    progress.end();
  }
}

/** How a stage stands after some seconds, in one line. */
export function stageLine(name: string, done: number, total: number, seconds: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  return `${name} ${barOf(share)} ${done} of ${total} plants, ${Math.round(done / seconds)}/s`;
}
