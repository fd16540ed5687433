/** Where the process is on its way from its start to its end. */
export class Lifecycle {
  phase: 'starting' | 'serving' | 'stopping' = 'starting';
}
