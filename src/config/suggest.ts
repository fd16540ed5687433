// What a misspelt name was meant to be.

/** `; did you mean PORT?`, if a known name differs in one letter, or in the order of two; '' otherwise. */
export function suggest(name: string, known: readonly string[]): string {
  const variants = new Set(leaveOneOut(name));
  const similar = known.find((other) => leaveOneOut(other).some((one) => variants.has(one)));
  return similar ? `; did you mean ${similar}?` : '';
}

/** A text, and what is left of it without any one letter: similar texts have one of these in common. */
function leaveOneOut(text: string): string[] {
  return [text, ...Array.from(text, (_, i) => text.slice(0, i) + text.slice(i + 1))];
}
