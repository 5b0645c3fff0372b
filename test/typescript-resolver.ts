/**
 * Lets Node run the TypeScript sources as they are: Node strips the types itself, but the sources name the compiled files
 * (`./x.js`). Loaded with `--import` into the test processes, whose threads and children inherit it.
 */
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.endsWith('.js') || !context.parentURL?.endsWith('.ts')) return nextResolve(specifier, context);
    try {
      return nextResolve(specifier, context);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
      return nextResolve(specifier.replace(/\.js$/, '.ts'), context);
    }
  },
});
