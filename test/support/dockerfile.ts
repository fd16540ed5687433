/** An instruction of a Dockerfile: `COPY` and what follows it, as one line. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions of each stage of a Dockerfile, the last stage's last; `ARG`s before it are `[0]`. */
export function stagesOf(dockerfile: string): Instruction[][] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n');
  const stages: Instruction[][] = [[]];
  for (const line of lines.filter((one) => one !== '')) {
    const [name = '', ...words] = line.trim().split(/\s+/);
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, text: words.join(' ') });
  }
  return stages;
}

/** What follows every instruction of a name. */
export function textsOf(stage: readonly Instruction[], name: string): string[] {
  return stage.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

/** The `name=value` pairs of an instruction, such as those of ENV and LABEL. */
export function pairsOf(texts: readonly string[]): Record<string, string> {
  const pairs = texts.join(' ').matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g);
  return Object.fromEntries(
    [...pairs].map(([, name = '', quoted, bare = '']) => [name, quoted ?? bare]),
  );
}

/** The command and its arguments of an instruction in exec form. */
export function argumentsOf(text = ''): string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}
