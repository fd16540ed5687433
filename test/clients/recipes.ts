/** The generators, by exact version: the one place that names them. */
const TYPESCRIPT = 'typescript@5.9.3 @types/node@26.6.6';
const OPENAPI_FETCH = 'openapi-typescript@7.13.0 openapi-fetch@0.17.0';
const HEY_API = '@hey-api/openapi-ts@0.99.0';
const ORVAL = 'orval@8.0.0';
const PYTHON = 'openapi-python-client==0.29.1';
const GO = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const GO_RUNTIME = 'github.com/oapi-codegen/runtime@v1.8.0';
const JAVA = 'org.openapitools:openapi-generator-cli:7.25.0';

const install = (packages: string) =>
  `echo '{"type":"module"}' > package.json; npm install --ignore-scripts --no-audit --no-fund ${packages} ${TYPESCRIPT}`;
/** Type-checks as strictly as TypeScript can be; Node.js then runs the source itself. */
const compile =
  'npx tsc --noEmit --strict --target es2024 --module nodenext --allowImportingTsExtensions main.ts';
const run = 'node main.ts';

/** How each client is generated, compiled and run: lines of a shell, in a folder with `openapi.json`. */
export const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  own: [
    install(''),
    'mkdir -p node_modules && ln -s "$PACKAGE" node_modules/plant-store',
    compile,
    run,
  ],
  'openapi-fetch': [install(OPENAPI_FETCH), 'node generate.ts', compile, run],
  'hey-api': [install(HEY_API), 'npx openapi-ts -f openapi-ts.config.mjs', compile, run],
  orval: [install(ORVAL), 'npx orval --config orval.config.mjs', compile, run],
  python: [
    `python3 -m venv venv && venv/bin/pip install --quiet ${PYTHON}`,
    'PATH=$PWD/venv/bin:$PATH openapi-python-client generate --path openapi.json --meta none --output-path plants',
    'venv/bin/python main.py',
  ],
  go: [
    `GOBIN=$PWD go install ${GO}`,
    './oapi-codegen -generate types,client -package main -o plants.gen.go openapi.json',
    `go mod init plants && go get ${GO_RUNTIME} && go mod tidy && go vet .`,
    'go run .',
  ],
  java: [
    `mvn --quiet --batch-mode dependency:copy -Dartifact=${JAVA} -DoutputDirectory=. -Dmdep.stripVersion=true`,
    'java -jar openapi-generator-cli.jar generate -i openapi.json -g java --library native -o . ' +
      '--additional-properties=openApiNullable=false,invokerPackage=plants,apiPackage=plants.api,modelPackage=plants.model',
    'mv Main.java src/main/java && mvn --quiet --batch-mode compile dependency:build-classpath -Dmdep.outputFile=classpath',
    'java -cp "target/classes:$(cat classpath)" Main',
  ],
};
