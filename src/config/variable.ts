import { availableParallelism } from 'node:os';

/** How the text of a variable becomes a value; whatever it cannot read fails the field's validator. */
export type Parse = (text: string) => unknown;

interface Variable {
  readonly name: string;
  readonly field: string;
  readonly parse: Parse;
}

/** Every environment variable that the service reads, in the order of the configuration's fields. */
export const VARIABLES: Variable[] = [];

/** The environment variable that sets a field of the configuration. */
export function Variable(name: string, parse: Parse = (text) => text): PropertyDecorator {
  return (_target, field) => void VARIABLES.push({ name, field: String(field), parse });
}

/** Decimal digits. */
export const wholeNumber: Parse = (text) => (/^\d+$/.test(text) ? Number(text) : undefined);

/** Processes of one service at the most. */
export const MOST_WORKERS = 256;

/** A number of processes; `auto` is as many as there are cores for us. */
export const workers: Parse = (text) =>
  text === 'auto' ? Math.min(availableParallelism(), MOST_WORKERS) : wholeNumber(text);

/** An address that paths are put behind, so it has no slash at its end. */
export const baseUrl: Parse = (text) => text.replace(/\/$/, '');

/** `on` and `off`. */
export const onOff: Parse = (text) => ({ on: true, off: false })[text];

/** A size in bytes: a number, with `kb` or `mb` behind it if need be. */
export const size: Parse = (text) => {
  const [, number, unit = ''] = /^(\d+)(kb|mb)?$/i.exec(text) ?? [];
  return Number(number) * ({ kb: 2 ** 10, mb: 2 ** 20 }[unit.toLowerCase()] ?? 1);
};
