import { number, table } from '../../bench/markdown.js';
import { KINDS, type Kind } from './cuts.js';
import type { IoError } from './io-errors.js';
import type { PowerCuts } from './power-cuts.js';
import { FILES } from './records.js';

/** Images by the kind of cut, and what was found in them. */
export function imagesOf(cuts: PowerCuts): string {
  const { images, checked, lost, damaged, operations, checkpoints, lies } = cuts;
  const kinds = Object.keys(KINDS) as Kind[];
  const total = kinds.reduce((sum, kind) => sum + (images[kind] ?? 0), 0);
  const rows = kinds.map((kind) => [kind, number(images[kind] ?? 0, 0)]);
  const seen = lies.map(
    (lie, i) =>
      `with syncs of the ${FILES[i]} that do nothing ${number(lie.lost, 0)} of ${number(lie.checked, 0)} were lost`,
  );
  return [
    table(['power cuts', 'images'], [...rows, ['**all**', `**${number(total, 0)}**`]]),
    `Of ${number(operations, 0)} operations with ${number(checkpoints, 0)} checkpoints. Acknowledged ` +
      `plants looked for in the images: ${number(checked, 0)}; lost: ${number(lost, 0)}; damaged ` +
      `images: ${number(damaged, 0)}. That the drill can see: ${seen.join(', ')}.`,
  ].join('\n\n');
}

/** What each kind of fault did, to clients, to the service, and to the plants after a power cut. */
export function faultsOf(errors: readonly IoError[]): string {
  const kindOf = ({ scenario }: IoError): string => scenario.name.replace(/, (once|for 1 s)$/, '');
  const kinds = [...new Set(errors.map(kindOf))];
  return table(
    [
      'I/O errors, once and for 1 s',
      'acknowledged',
      '503',
      'unknown',
      'the service',
      'images',
      'lost',
    ],
    kinds.map((kind) => {
      const own = errors.filter((error) => kindOf(error) === kind);
      const sum = (figure: (error: IoError) => number): string =>
        number(
          own.reduce((total, error) => total + figure(error), 0),
          0,
        );
      return [
        kind,
        sum(({ scenario }) => scenario.acknowledged),
        sum(({ scenario }) => scenario.refusals),
        sum(({ scenario }) => scenario.unknown),
        [...new Set(own.map(({ exit }) => (exit === undefined ? 'went on' : `exit ${exit}`)))].join(
          ', ',
        ),
        sum(({ cuts }) => Object.values(cuts.images).reduce((total, n) => total + n, 0)),
        sum(({ scenario, cuts }) => scenario.lost + cuts.lost),
      ];
    }),
  );
}
