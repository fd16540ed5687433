# Node.js of the version in package.json, which every other way to run the service uses.
FROM node:26.10.0-bookworm@sha256:2aaae6d91f99fee84cfc92da9b52c22a185752d247746052bbc3f961e44478c6 AS sources
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM sources AS build
RUN npm ci
COPY .swcrc nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY src ./src
RUN npm run build

FROM sources AS production
# Optional are TypeScript, a peer of @nestjs/swagger, and Node.js, which is in the image.
RUN npm ci --omit=dev --omit=optional \
  && rm -r node_modules/better-sqlite3/deps node_modules/better-sqlite3/src

FROM node:26.10.0-bookworm-slim@sha256:662933cf47f013bc8e4beb31a6116448427a82057ba7c42c97e4c5ba766504c2
ARG VERSION=4.1.1-dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="plant-store" \
      org.opencontainers.image.description="A service that keeps a store of plants: POST /plants, durable and fast" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="docker.io/library/node:26.10.0-bookworm-slim"

# As process 1, Node.js would ignore a SIGTERM before its handler is set: tini is process 1.
# Package managers are not needed in production.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /opt/yarn-* \
    /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /usr/local/bin/yarn /usr/local/bin/yarnpkg

WORKDIR /app
COPY package.json LICENSE ./
COPY bin ./bin
# Messages name these.
COPY docs ./docs
COPY --from=production /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
# SQLite's folder, where DATABASE_URL is left at its default; all else belongs to root, and is readable whatever the
# umask of the checkout was.
RUN chmod --recursive go+rX bin docs package.json LICENSE \
  && install --directory --owner=1000 --group=1000 --mode=700 data \
  && install --directory --owner=1000 --group=1000 --mode=700 /backups \
  && ln -s /app/bin/plant-store /usr/local/bin/

# Other containers and probes connect from outside this one, some of them by IPv6.
ENV GIT_COMMIT=${REVISION} NODE_ENV=production HOST=:: MANAGEMENT_HOST=:: MANAGEMENT_PORT=9464
EXPOSE 3000 9464

# The image's user `node`, by number: Kubernetes cannot verify that a name is not root's.
USER 1000:1000
# NODE_USE_ENV_PROXY, for the identity provider, would send this to a proxy too.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "--no-use-env-proxy", "-e", "process.env.MANAGEMENT_PORT === 'off' || fetch('http://127.0.0.1:' + process.env.MANAGEMENT_PORT + '/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--"]
CMD ["plant-store", "serve"]
