import os
import sys
import time

import httpx
from plants import AuthenticatedClient
from plants.api.plants import create_plant
from plants.models import Error, NewPlant, Plant
from plants.types import Response

BASE_URL, TOKEN = os.environ.get("BASE_URL"), os.environ.get("TOKEN")
if not BASE_URL or not TOKEN:
    sys.exit("BASE_URL and TOKEN are not set: export them first")
client = AuthenticatedClient(base_url=BASE_URL, token=TOKEN, timeout=httpx.Timeout(30))


def send(plant: NewPlant) -> Response[Error | Plant]:
    """Sends a plant up to five times."""
    for delay in (0.2, 0.4, 0.8, 1.6, None):
        retry_after = 0
        try:
            response = create_plant.sync_detailed(client=client, body=plant)
            status = response.status_code
            if delay is None or (status not in (408, 429) and status < 500):
                return response
            retry_after = int(response.headers.get("Retry-After", 0))
        except (httpx.TransportError, ValueError):
            if delay is None:
                raise
        time.sleep(delay + retry_after)


def create(plant: NewPlant) -> None:
    response = send(plant)
    match response.parsed:
        case Plant(name=name):
            print(name)
        case Error(error=error, message=message):
            print(f"{int(response.status_code)} {error}: {message}")
        case _:
            print(int(response.status_code), response.content)


id = 9223372036854775805
create(NewPlant(id=id, name="Alder", tag="Alnus"))
create(NewPlant(id=id, name="Oak"))
