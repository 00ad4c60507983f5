import { createRequire } from 'node:module';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';

/**
 * Packages that a library loads for rare cases of its own (a proxy in the kubeconfig, a path in what an exec plug-in prints) or that only some
 * commands need. All are CommonJS.
 */
const SELDOM = new Set(['hpagent', 'js-yaml', 'jsonpath-plus', 'socks', 'socks-proxy-agent', 'undici', 'yaml']);

/**
 * Of the client library, only what this name needs: it reads kubeconfigs and tokens. The rest, a class for every kind of every API, would
 * be half of what there is to load before the webhook serves.
 */
const NEEDED = 'KubeConfig';

/**
 * Takes the client library into the bundle without the modules that nobody asks for. esbuild cannot see that they are not needed, because
 * the library does not say that its modules do nothing but define (`sideEffects`), and because it leaves nothing out of a module
 * that is initialised later, as everything behind an `import()` is. So the library is bundled by itself first.
 */
export const leanClient: Plugin = {
  name: 'lean-client',
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]@kubernetes[\\/]client-node[\\/]dist[\\/]index\.js$/ }, async ({ path: index }) => {
      const resolveDir = path.dirname(index);
      const { outputFiles } = await build({
        stdin: { contents: `export { ${NEEDED} } from './index.js';`, resolveDir },
        bundle: true,
        write: false,
        format: 'esm',
        platform: 'node',
        preserveSymlinks: true,
        // Other packages are the outer bundle's, once and with their licences.
        packages: 'external',
        plugins: [onlyDefinitions],
        logLevel: 'warning',
      });
      return { contents: outputFiles[0]?.text ?? '', resolveDir };
    });
  },
};

/** Modules of the client library can be left out where nothing of them is used: none does more than define, but for a polyfill that Node 20 has no use for. */
const onlyDefinitions: Plugin = {
  name: 'only-definitions',
  setup(bundler) {
    // An ES module names files whole; nothing has to be looked for.
    bundler.onResolve({ filter: /^\.{1,2}\// }, ({ path: file, resolveDir }) => ({
      path: path.join(resolveDir, file),
      sideEffects: false,
    }));
  },
};

/** Loads the packages of {@link SELDOM} when something of them is used for the first time, not when the program begins. */
export const atFirstUse: Plugin = {
  name: 'at-first-use',
  setup(bundler) {
    bundler.onResolve({ filter: /^[a-z]/ }, ({ path: name, kind, resolveDir }) =>
      SELDOM.has(name) && kind === 'import-statement'
        ? { path: name, namespace: 'at-first-use', pluginData: resolveDir }
        : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: 'at-first-use' }, ({ path: name, pluginData }) => {
      const resolveDir = String(pluginData);
      const exported: object = createRequire(path.join(resolveDir, 'importer.js'))(name) as object;
      const getters = Object.keys(exported).map(
        (key) => `get ${JSON.stringify(key)}() { return load()[${JSON.stringify(key)}]; }`,
      );
      return {
        resolveDir,
        contents: `const load = () => require(${JSON.stringify(name)}); module.exports = { ${getters.join(', ')} };`,
      };
    });
  },
};
