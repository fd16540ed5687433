/**
 * Nest's logger by its own file, for what a command loads: the rest of the package takes longer to load than
 * all else. It needs what the package would load before.
 */
import 'reflect-metadata';

export { Logger } from '@nestjs/common/services/logger.service.js';
