import os
import time

import httpx
from plants import AuthenticatedClient
from plants.api.plants import create_plant
from plants.models import Error, NewPlant, Plant
from plants.types import Response

client = AuthenticatedClient(
    base_url=os.environ["BASE_URL"], token=os.environ["TOKEN"], timeout=httpx.Timeout(30)
)


def create(plant: NewPlant) -> Response[Error | Plant]:
    for delay in (0.2, 0.4, 0.8, 1.6, None):
        try:
            answer = create_plant.sync_detailed(client=client, body=plant)
            if delay is None or (answer.status_code not in (408, 429) and answer.status_code < 500):
                return answer
        except (httpx.TransportError, ValueError):
            if delay is None:
                raise
        time.sleep(delay)


id = 9223372036854775807
created = create(NewPlant(id=id, name="Alder", tag="Alnus")).parsed
assert isinstance(created, Plant)
print(created.name)
refused = create(NewPlant(id=id, name="Oak"))
assert isinstance(refused.parsed, Error)
print(int(refused.status_code), refused.parsed.error)
