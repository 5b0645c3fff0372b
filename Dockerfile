# syntax=docker/dockerfile:1
# A worker with the command line: `docker run -v ./my-agent:/agent perdure-worker worker`. Debian, because the Temporal SDK's
# native part is built for glibc; the same version of Node.js as scripts/set-up/node.mjs.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/bundle-workflows.mjs scripts/
COPY src src
RUN node node_modules/typescript/bin/tsc -p tsconfig.build.json \
  && node scripts/bundle-workflows.mjs \
  && npm prune --omit=dev --ignore-scripts

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production
# By default each thread takes up to 100 MB for young objects and keeps them (docs/benchmarks.md, "Long runs").
ENV NODE_OPTIONS=--max-semi-space-size=8
WORKDIR /opt/perdure
COPY --from=build /build/node_modules node_modules
COPY package.json ./
COPY bin bin
COPY --from=build /build/dist dist
RUN ln -s /opt/perdure/bin/perdure.js /usr/local/bin/perdure
# Where perdure.config.ts is.
WORKDIR /agent
USER node
ENTRYPOINT ["perdure"]
CMD ["worker"]
