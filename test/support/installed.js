import { requirePackages } from '../../src/main/installed.js';

// Before the tests: what runs them is a package itself.
requirePackages('dependencies', 'devDependencies', 'optionalDependencies');
