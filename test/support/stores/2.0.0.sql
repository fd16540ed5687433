INSERT INTO public.migrations VALUES (1, 1700000000000, 'CreatePlantsAndTokens1700000000000');
INSERT INTO public.plants VALUES (3, 'Common alder', 'Alnus glutinosa', 'token:1', 1795622928737);
INSERT INTO public.plants VALUES (-9223372036854775808, '', NULL, 'token:1', 1795622928771);
INSERT INTO public.plants VALUES (9007199254740993, '🌵 "Saguaro"', '', 'token:1', 1795622928805);
INSERT INTO public.tokens VALUES (2, 'gone', 'eb4343f6fe75b5a36e9cab73135167e0f530f6b35b67b3e6596c215f07bf90a2', 1795622921082, NULL, 1795622922518, NULL);
INSERT INTO public.tokens VALUES (1, 'nursery', '230c98ef77425d0e87362f22d983b35aaac07bc2ebfaeb6a977f62cf029bb177', 1795622919804, NULL, NULL, 1795622928805);
SELECT pg_catalog.setval('public.migrations_id_seq', 1, true);
SELECT pg_catalog.setval('public.tokens_id_seq', 2, true);
