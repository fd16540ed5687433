/** Bounds what is under way at once, by number and by bytes; whoever wants more in waits. */
export class InFlight {
  private number = 0;
  private bytes = 0;
  private changed: () => void = () => undefined;

  /** @param maxBytes a single item may exceed it, on its own */
  constructor(
    private readonly maxNumber: number,
    private readonly maxBytes: number,
  ) {}

  /** Waits until there is room for one more, of so many bytes. For one caller at a time. */
  async room(bytes: number): Promise<void> {
    while (this.isFull(bytes)) await this.change();
  }

  enter(bytes: number): void {
    this.number += 1;
    this.bytes += bytes;
  }

  leave(bytes: number): void {
    this.number -= 1;
    this.bytes -= bytes;
    this.changed();
  }

  /** Waits until nothing is under way. */
  async empty(): Promise<void> {
    while (this.number > 0) await this.change();
  }

  private isFull(bytes: number): boolean {
    if (this.number === 0) return false;
    return this.number >= this.maxNumber || this.bytes + bytes > this.maxBytes;
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.changed = resolve;
    });
  }
}
