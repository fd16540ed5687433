CREATE TABLE public.backups (
    id integer NOT NULL,
    finished_at bigint NOT NULL
);
CREATE TABLE public.plant_store_migrations (
    id integer NOT NULL,
    "timestamp" bigint NOT NULL,
    name character varying NOT NULL
);
CREATE SEQUENCE public.plant_store_migrations_id_seq AS integer;
ALTER SEQUENCE public.plant_store_migrations_id_seq OWNED BY public.plant_store_migrations.id;
CREATE TABLE public.plants (
    id bigint NOT NULL,
    name text NOT NULL,
    tag text,
    created_by text,
    created_at bigint
);
CREATE TABLE public.tokens (
    id integer NOT NULL,
    name text NOT NULL,
    hash text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
);
CREATE SEQUENCE public.tokens_id_seq AS integer;
ALTER SEQUENCE public.tokens_id_seq OWNED BY public.tokens.id;
ALTER TABLE ONLY public.plant_store_migrations ALTER COLUMN id SET DEFAULT nextval('public.plant_store_migrations_id_seq'::regclass);
ALTER TABLE ONLY public.tokens ALTER COLUMN id SET DEFAULT nextval('public.tokens_id_seq'::regclass);
INSERT INTO public.plant_store_migrations VALUES (1, 1700000000000, 'CreatePlantsAndTokens1700000000000');
INSERT INTO public.plant_store_migrations VALUES (2, 1795600000000, 'CreateBackups1795600000000');
INSERT INTO public.plants VALUES (-9223372036854775808, '', NULL, 'token:1', 1795909225005);
INSERT INTO public.plants VALUES (3, 'Common alder', 'Alnus glutinosa', 'token:1', 1795909225005);
INSERT INTO public.plants VALUES (9007199254740993, '🌵 "Saguaro"', '', 'token:1', 1795909225005);
INSERT INTO public.tokens VALUES (2, 'revoked', '4b51a822a652aa064dd60cf65df76ca7cbc79f481132f4a3b3b12a7d1fa36e76', 1795909218335, NULL, 1795909225631, NULL);
INSERT INTO public.tokens VALUES (1, 'active', 'bd1fb942d0736ab23f3374926ce984d21812ac565c934b2d649f562e4b9f5909', 1795909217445, NULL, NULL, 1795909225002);
SELECT pg_catalog.setval('public.plant_store_migrations_id_seq', 2, true);
SELECT pg_catalog.setval('public.tokens_id_seq', 2, true);
ALTER TABLE ONLY public.tokens ADD CONSTRAINT "PK_3001e89ada36263dabf1fb6210a" PRIMARY KEY (id);
ALTER TABLE ONLY public.plants ADD CONSTRAINT "PK_7056d6b283b48ee2bb0e53bee60" PRIMARY KEY (id);
ALTER TABLE ONLY public.backups ADD CONSTRAINT "PK_ca30ff369eddfc7dac3b35d0d3c" PRIMARY KEY (id);
ALTER TABLE ONLY public.plant_store_migrations ADD CONSTRAINT "PK_cca98b57cd39fda98d2dbef52da" PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens ADD CONSTRAINT "UQ_4b52f52d067ed65de68ca7eff31" UNIQUE (hash);
