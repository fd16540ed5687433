import os
import sys
import time

import httpx
from plants import AuthenticatedClient
from plants.api.plants import create_plant
from plants.models import Error, NewPlant, Plant

BASE_URL, TOKEN = os.environ.get("BASE_URL"), os.environ.get("TOKEN")
if not BASE_URL or not TOKEN:
    sys.exit("BASE_URL and TOKEN are not set: export them first")


class RetryingTransport(httpx.HTTPTransport):
    """Sends up to five times, unless Retry-After is beyond a minute."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        for delay in (1, 2, 4, 8):
            retry_after = 0
            try:
                response = super().handle_request(request)
                status, seconds = response.status_code, response.headers.get("Retry-After", "")
                retry_after = int(seconds) if seconds.isdigit() else 0
                if (status not in (408, 429) and status < 500) or retry_after > 60:
                    return response
                response.close()
            except httpx.TransportError:
                pass
            time.sleep(max(delay, retry_after))
        return super().handle_request(request)


def require_json(response: httpx.Response) -> None:
    """Ends with status and body if a proxy sent them."""
    if not response.headers.get("Content-Type", "").startswith("application/json"):
        response.read()
        sys.exit(f"{response.status_code} {response.text}")


client = AuthenticatedClient(
    base_url=BASE_URL,
    token=TOKEN,
    timeout=httpx.Timeout(30),
    httpx_args={"transport": RetryingTransport(), "event_hooks": {"response": [require_json]}},
)


def create(plant: NewPlant) -> None:
    response = create_plant.sync_detailed(client=client, body=plant)
    match response.parsed:
        case Plant(name=name):
            print(name)
        case Error(error=error, message=message):
            print(f"{int(response.status_code)} {error}: {message}")
        case _:
            print(int(response.status_code), response.content)


id = 9223372036854775043
try:
    create(NewPlant(id=id, name="Alder", tag="Alnus"))
    create(NewPlant(id=id, name="Oak"))
except httpx.TransportError as error:
    sys.exit(f"{BASE_URL}: {error}")
