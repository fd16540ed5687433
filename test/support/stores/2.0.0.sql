CREATE TABLE public.migrations (
    id integer NOT NULL,
    "timestamp" bigint NOT NULL,
    name character varying NOT NULL
);
CREATE SEQUENCE public.migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.migrations_id_seq OWNED BY public.migrations.id;
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
CREATE SEQUENCE public.tokens_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tokens_id_seq OWNED BY public.tokens.id;
ALTER TABLE ONLY public.migrations ALTER COLUMN id SET DEFAULT nextval('public.migrations_id_seq'::regclass);
ALTER TABLE ONLY public.tokens ALTER COLUMN id SET DEFAULT nextval('public.tokens_id_seq'::regclass);
INSERT INTO public.migrations VALUES (1, 1700000000000, 'CreatePlantsAndTokens1700000000000');
INSERT INTO public.plants VALUES (3, 'Common alder', 'Alnus glutinosa', 'token:1', 1795622928737);
INSERT INTO public.plants VALUES (-9223372036854775808, '', NULL, 'token:1', 1795622928771);
INSERT INTO public.plants VALUES (9007199254740993, '🌵 "Saguaro"', '', 'token:1', 1795622928805);
INSERT INTO public.tokens VALUES (2, 'gone', 'eb4343f6fe75b5a36e9cab73135167e0f530f6b35b67b3e6596c215f07bf90a2', 1795622921082, NULL, 1795622922518, NULL);
INSERT INTO public.tokens VALUES (1, 'nursery', '230c98ef77425d0e87362f22d983b35aaac07bc2ebfaeb6a977f62cf029bb177', 1795622919804, NULL, NULL, 1795622928805);
SELECT pg_catalog.setval('public.migrations_id_seq', 1, true);
SELECT pg_catalog.setval('public.tokens_id_seq', 2, true);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT "PK_3001e89ada36263dabf1fb6210a" PRIMARY KEY (id);
ALTER TABLE ONLY public.plants
    ADD CONSTRAINT "PK_7056d6b283b48ee2bb0e53bee60" PRIMARY KEY (id);
ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT "UQ_4b52f52d067ed65de68ca7eff31" UNIQUE (hash);
