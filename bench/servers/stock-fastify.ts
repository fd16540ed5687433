import fastify from 'fastify';

/** Fastify with its defaults: parses the body, and the handler ignores it. */
const app = fastify();
app.post('/plants', (_request, reply) =>
  reply.send({ name: 'Black alder', tag: 'Alnus glutinosa' }),
);
console.log(await app.listen({ port: 0, host: '127.0.0.1' }));
