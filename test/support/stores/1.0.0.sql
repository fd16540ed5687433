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
INSERT INTO public.migrations VALUES (2, 1763700000000, 'AddAuditTrailToPlants1763700000000');
INSERT INTO public.plants VALUES (3, 'Common alder', 'Alnus glutinosa', 'token:1', 1795622899380);
INSERT INTO public.plants VALUES (-9223372036854775808, '', NULL, 'token:1', 1795622899443);
INSERT INTO public.plants VALUES (9007199254740993, '🌵 "Saguaro"', '', 'token:1', 1795622899482);
INSERT INTO public.tokens VALUES (2, 'gone', '000ddcbbc95f1b504ee4c0f36ec0fb181d1738dbfadc0975467602ad490bda74', 1795622891055, NULL, 1795622893274, NULL);
INSERT INTO public.tokens VALUES (1, 'nursery', 'e36fc178b1c709a03f02c3f235166a40f52249279d837d29540a713b42de20d5', 1795622889592, NULL, NULL, 1795622899481);
SELECT pg_catalog.setval('public.migrations_id_seq', 2, true);
SELECT pg_catalog.setval('public.tokens_id_seq', 2, true);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT "PK_3001e89ada36263dabf1fb6210a" PRIMARY KEY (id);
ALTER TABLE ONLY public.plants
    ADD CONSTRAINT "PK_7056d6b283b48ee2bb0e53bee60" PRIMARY KEY (id);
ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT "UQ_4b52f52d067ed65de68ca7eff31" UNIQUE (hash);
