import { createRequire } from 'node:module';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';

/**
 * CommonJS packages that only some commands need, or that a library needs only for a proxy in the kubeconfig.
 */
const RARELY_USED = new Set(['hpagent', 'js-yaml', 'node-forge', 'socks', 'socks-proxy-agent', 'yaml']);

/**
 * Packages whose functions we never call, because their importers need them for something else: request bodies in
 * `express`, samples of the processor in `prom-client`, and requests of the client library itself.
 */
const UNUSED = new Set(['@opentelemetry/api', 'body-parser', 'undici']);

/** The only class of the client library that we use. The others would double the code that is loaded at the start. */
const USED_CLASS = 'KubeConfig';

/**
 * Bundles the client library without its unused modules. esbuild cannot drop them by itself: the library does not
 * declare `sideEffects: false`, and esbuild keeps all modules behind an `import()`. So the library is bundled first.
 */
export const leanClient: Plugin = {
  name: 'lean-client',
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]@kubernetes[\\/]client-node[\\/]dist[\\/]index\.js$/ }, async ({ path: index }) => {
      const resolveDir = path.dirname(index);
      const { outputFiles } = await build({
        stdin: { contents: `export { ${USED_CLASS} } from './index.js';`, resolveDir },
        bundle: true,
        write: false,
        format: 'esm',
        platform: 'node',
        preserveSymlinks: true,
        // The outer bundle contains the other packages once and collects their licenses.
        packages: 'external',
        plugins: [withoutSideEffects],
        logLevel: 'warning',
      });
      return { contents: outputFiles[0]?.text ?? '', resolveDir };
    });
  },
};

/** The providers that run commands or log in. A connection rejects a kubeconfig that has one. */
const REJECTED_PROVIDER = /[\\/](?:azure|gcp|oidc)_auth\.js$/;

/** Declares that the library's modules only define things. The exception is a polyfill that Node 20 does not need. */
const withoutSideEffects: Plugin = {
  name: 'without-side-effects',
  setup(bundler) {
    bundler.onResolve({ filter: /^\.{1,2}\// }, ({ path: file, resolveDir }) => ({
      path: path.join(resolveDir, file),
      sideEffects: false,
    }));
    bundler.onLoad({ filter: REJECTED_PROVIDER }, () => ({
      contents: ['AzureAuth', 'GoogleCloudPlatformAuth', 'OpenIDConnectAuth']
        .map((name) => `export class ${name} { isAuthProvider() { return false; } }`)
        .join('\n'),
    }));
  },
};

/** Loads the packages of {@link RARELY_USED} at their first use instead of at the start. */
export const atFirstUse: Plugin = {
  name: 'at-first-use',
  setup(bundler) {
    bundler.onResolve({ filter: /^[a-z]/ }, ({ path: name, kind, resolveDir }) =>
      RARELY_USED.has(name) && kind === 'import-statement'
        ? { path: name, namespace: 'at-first-use', pluginData: resolveDir }
        : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: 'at-first-use' }, ({ path: name, pluginData }) => {
      const resolveDir = String(pluginData);
      const exports = createRequire(path.join(resolveDir, 'importer.js'))(name) as object;
      const keys = Object.keys(exports).map((key) => JSON.stringify(key));
      const getters = keys.map((key) => `get ${key}() { return load()[${key}]; }`);
      return {
        resolveDir,
        contents: `const load = () => require(${JSON.stringify(name)}); module.exports = { ${getters.join(', ')} };`,
      };
    });
  },
};

/** Leaves the packages of {@link UNUSED} out of the bundle: they are a third of its code. */
export const withoutUnused: Plugin = {
  name: 'without-unused',
  setup(bundler) {
    bundler.onResolve({ filter: /^[@a-z]/ }, ({ path: name }) =>
      UNUSED.has(name) ? { path: name, namespace: 'without-unused' } : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: 'without-unused' }, () => ({ contents: 'module.exports = {};' }));
  },
};
