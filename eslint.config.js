import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import sortImports from 'eslint-plugin-simple-import-sort';
import tseslint from 'typescript-eslint';

/** What is written for the eye of the formatter, and read in another order than it runs. */
const readAsItRuns = [
  {
    selector: 'ObjectExpression > SpreadElement > ObjectExpression',
    message: 'Write the properties out: a literal that is spread into a literal only saves lines.',
  },
  ...['CallExpression[callee.property.name=/^(query|execute)$/]', 'CallExpression[callee.name="sql"]'].map((call) => ({
    selector: `${call} CallExpression[callee.object.name="Object"][callee.property.name="values"]`,
    message: 'Name the parameters of a statement one by one: nobody sees their order in an object.',
  })),
];

export default defineConfig(
  // The types of the client are generated, and compared with what generates them by check:client.
  globalIgnores(['node_modules/', '.reeltally/', 'coverage/', 'src/client/paths.ts']),
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { 'sort-imports': sortImports },
    rules: {
      eqeqeq: 'error',
      'no-duplicate-imports': 'error',
      // One block: packages, then paths.
      'sort-imports/imports': ['error', { groups: [['^\\u0000', '^node:', '^@?\\w', '^', '^\\.']] }],
      'no-control-regex': 'off', // Control characters are looked for on purpose, to refuse them.
    },
  },
  {
    // What Node and every browser have.
    files: ['src/proof/verifier.mjs'],
    languageOptions: {
      globals: Object.fromEntries(
        ['crypto', 'atob', 'btoa', 'TextEncoder', 'TextDecoder', 'console', 'process'].map((name) => [
          name,
          'readonly',
        ]),
      ),
    },
  },
  {
    files: ['**/*.ts', '**/*.mts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // Numbers in texts read well; everything else that turns into text by accident stays forbidden.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => doIt()` where nothing is returned is the usual form of a callback.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // The compiler's noPropertyAccessFromIndexSignature demands the brackets that this rule would remove.
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      // `for (;;)` and `while (true)` with a return inside are how a retry or a poll is written here.
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: 'always' }],
      // A leading underscore says that a value is taken out in order to be left out.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // An async function without await keeps the promise of an interface and turns a throw into a rejection.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['{src,projections,test}/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...readAsItRuns] },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off', // A test that meets a missing value fails right there, which is what it is for.
    },
  },
);
