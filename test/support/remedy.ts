/** The commands of a message: what stands in backticks. */
export function listCommands(message: unknown): string[] {
  return Array.from(String(message).matchAll(/`([^`]+)`/g), ([, command = '']) => command);
}
