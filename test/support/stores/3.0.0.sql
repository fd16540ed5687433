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
INSERT INTO public.backups VALUES (1, 1795815223989);
INSERT INTO public.plant_store_migrations VALUES (1, 1700000000000, 'CreatePlantsAndTokens1700000000000');
INSERT INTO public.plant_store_migrations VALUES (2, 1795600000000, 'CreateBackups1795600000000');
INSERT INTO public.plants VALUES (3, 'Common alder', 'Alnus glutinosa', 'token:1', 1795815221750);
INSERT INTO public.plants VALUES (-9223372036854775808, '', NULL, 'token:1', 1795815221802);
INSERT INTO public.plants VALUES (9007199254740993, '🌵 "Saguaro"', '', 'token:1', 1795815221870);
INSERT INTO public.tokens VALUES (2, 'gone', '278bc48cd9f4d5613ae1920eda94b76098bee55d147c6d7605daadbf3ab4dc37', 1795815218797, NULL, 1795815219515, NULL);
INSERT INTO public.tokens VALUES (1, 'nursery', 'd693e132cbb5ca351b144da9cb5b0c16a64d9d9ad6529b7838f72d9511034513', 1795815217706, NULL, NULL, 1795815221865);
SELECT pg_catalog.setval('public.plant_store_migrations_id_seq', 2, true);
SELECT pg_catalog.setval('public.tokens_id_seq', 2, true);
ALTER TABLE ONLY public.tokens ADD CONSTRAINT "PK_3001e89ada36263dabf1fb6210a" PRIMARY KEY (id);
ALTER TABLE ONLY public.plants ADD CONSTRAINT "PK_7056d6b283b48ee2bb0e53bee60" PRIMARY KEY (id);
ALTER TABLE ONLY public.backups ADD CONSTRAINT "PK_ca30ff369eddfc7dac3b35d0d3c" PRIMARY KEY (id);
ALTER TABLE ONLY public.plant_store_migrations ADD CONSTRAINT "PK_cca98b57cd39fda98d2dbef52da" PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens ADD CONSTRAINT "UQ_4b52f52d067ed65de68ca7eff31" UNIQUE (hash);
