/**
 * The modules of class-validator that are used, with the types of its index. The index loads every validator that there
 * is, telephone numbers included: 320 modules, a tenth of the time of a start and of the memory.
 */
declare module 'class-validator/cjs/decorator/common/ValidateBy.js' {
  export { ValidateBy } from 'class-validator';
}

declare module 'class-validator/cjs/metadata/MetadataStorage.js' {
  export { getMetadataStorage } from 'class-validator';
}

declare module 'class-validator/cjs/validation/Validator.js' {
  export { Validator } from 'class-validator';
}
