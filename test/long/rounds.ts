/** How much a test repeats, or how long it goes on: few in `npm test`, all in `npm run test:long`. */
export function rounds(few: number, all: number): number {
  return process.env.TEST_LONG === 'on' ? all : few;
}
