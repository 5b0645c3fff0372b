// The perdure command line in this folder: `npm run shop -- show RUN`, whatever Node the shell has.
process.chdir(import.meta.dirname);
await import(new URL('../../bin/perdure.js', import.meta.url).href);
