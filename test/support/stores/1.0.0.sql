INSERT INTO public.migrations VALUES (1, 1700000000000, 'CreatePlantsAndTokens1700000000000');
INSERT INTO public.migrations VALUES (2, 1763700000000, 'AddAuditTrailToPlants1763700000000');
INSERT INTO public.plants VALUES (3, 'Common alder', 'Alnus glutinosa', 'token:1', 1795622899380);
INSERT INTO public.plants VALUES (-9223372036854775808, '', NULL, 'token:1', 1795622899443);
INSERT INTO public.plants VALUES (9007199254740993, '🌵 "Saguaro"', '', 'token:1', 1795622899482);
INSERT INTO public.tokens VALUES (2, 'gone', '000ddcbbc95f1b504ee4c0f36ec0fb181d1738dbfadc0975467602ad490bda74', 1795622891055, NULL, 1795622893274, NULL);
INSERT INTO public.tokens VALUES (1, 'nursery', 'e36fc178b1c709a03f02c3f235166a40f52249279d837d29540a713b42de20d5', 1795622889592, NULL, NULL, 1795622899481);
SELECT pg_catalog.setval('public.migrations_id_seq', 2, true);
SELECT pg_catalog.setval('public.tokens_id_seq', 2, true);
