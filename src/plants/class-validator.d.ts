/**
 * The modules of class-validator that are used, with the types of its index. The index loads every validator that there
 * is, telephone numbers included: over 300 modules (docs/performance.md).
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
