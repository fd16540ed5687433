/** Invalid configuration; the message lists every variable at fault, and never a value. */
export class ConfigError extends Error {}
