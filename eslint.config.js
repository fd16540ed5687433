import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import * as regexp from 'eslint-plugin-regexp';
import sonarjs from 'eslint-plugin-sonarjs';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['dist', 'coverage', 'node_modules', '**/.work', 'test/clients/*/']),
  js.configs.recommended,
  {
    plugins: { sonarjs },
    rules: { 'sonarjs/cognitive-complexity': ['error', 15] },
  },
  {
    // What the service reads is written by others.
    files: ['src/**'],
    ignores: ['**/*.spec.ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': 'error',
      'regexp/no-super-linear-move': 'error',
    },
  },
  {
    files: ['**/*.ts', '{src,test}/**/*.js'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // An import of inline types alone would still load the module.
      '@typescript-eslint/no-import-type-side-effects': 'error',
      // Nest's modules and Express's messages are classes without members of their own.
      '@typescript-eslint/no-extraneous-class': 'off',
      // A false alarm with decorators of parameters (eslint/eslint#20947).
      'no-useless-assignment': 'off',
      // DTOs and entities are made as object literals, as TypeORM and Nest do.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // `() => resolve()` is clear enough.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { ignoreUsingDeclarations: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  {
    files: ['src/**'],
    ignores: ['src/config/**', '**/*.spec.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only src/config reads the environment.' },
      ],
    },
  },
  {
    files: ['{src,test}/**/*.js'],
    rules: {
      // The compiler checks these by JSDoc's casts, which the rules do not see.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
  prettier,
);
